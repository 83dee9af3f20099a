-- A correlation by two keys.
select sum(r2), count(*) from (select id2, id4, pow(corr(v1, v2), 2) as r2 from g group by id2, id4) as t
