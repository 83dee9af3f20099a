-- Median and deviation by two small integers.
select id4, id5, median(v3) as m, stddev(v3) as d from g group by id4, id5 order by id4, id5
