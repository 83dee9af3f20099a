-- Frequent users.
select UserID, count(*) as n from hits group by UserID order by n desc, UserID limit 10
