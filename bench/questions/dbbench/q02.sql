-- Sum by two short texts.
select id1, id2, sum(v1) as v1 from g group by id1, id2 order by id1, id2
