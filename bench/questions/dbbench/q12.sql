-- A join with a medium table.
select sum(x.v1), sum(m.v2), count(*) from x join medium as m on x.id2 = m.id2
