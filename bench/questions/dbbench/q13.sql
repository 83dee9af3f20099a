-- An outer join with a medium table.
select sum(x.v1), sum(m.v2), count(*) from x left join medium as m on x.id2 = m.id2
