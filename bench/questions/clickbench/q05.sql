-- Distinct wide integers.
select count(distinct UserID) from hits
