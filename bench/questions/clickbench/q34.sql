-- Frequent addresses.
select URL, count(*) as c from hits group by URL order by c desc, URL limit 10
