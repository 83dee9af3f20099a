-- Three sums by an integer of many values.
select sum(a), sum(b), sum(c), count(*) from (select id6, sum(v1) as a, sum(v2) as b, sum(v3) as c from g group by id6) as t
