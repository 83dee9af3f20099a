-- Hosts cut out of addresses by a pattern.
select regexp_replace(Referer, '^https?://(?:www[.])?([^/]+)/.*$', '\1') as k, avg(length(Referer)) as l, count(*) as c, min(Referer) from hits where Referer <> '' group by regexp_replace(Referer, '^https?://(?:www[.])?([^/]+)/.*$', '\1') having count(*) > 1000 order by l desc, k limit 25
