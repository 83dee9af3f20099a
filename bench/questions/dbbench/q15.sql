-- A join with a table as large.
select sum(x.v1), sum(b.v2), count(*) from x join big as b on x.id3 = b.id3
