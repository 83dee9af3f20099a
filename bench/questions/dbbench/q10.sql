-- Sum and count by all six keys.
select sum(v3), sum(n), count(*) from (select id1, id2, id3, id4, id5, id6, sum(v3) as v3, count(*) as n from g group by id1, id2, id3, id4, id5, id6) as t
