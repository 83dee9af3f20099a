-- Sum by a short text.
select id1, sum(v1) as v1 from g group by id1 order by id1
