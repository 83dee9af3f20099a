-- Keys computed from one column.
select ClientIP, ClientIP - 1, ClientIP - 2, ClientIP - 3, count(*) as c from hits group by ClientIP, ClientIP - 1, ClientIP - 2, ClientIP - 3 order by c desc, ClientIP limit 10
