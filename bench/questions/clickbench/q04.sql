-- The mean of wide integers.
select avg(UserID) from hits
