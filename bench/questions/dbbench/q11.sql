-- A join with a small table.
select sum(x.v1), sum(s.v2), count(*) from x join small as s on x.id1 = s.id1
