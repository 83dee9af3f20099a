-- Frequent addresses and a constant.
select 1, URL, count(*) as c from hits group by 1, URL order by c desc, URL limit 10
