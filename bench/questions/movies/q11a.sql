-- Sequels by companies that are not of a country.
select min(cn.name) as company, min(lt.link) as link, min(t.title) as title, count(*) as n
from company_name cn, company_type ct, keyword k, link_type lt, movie_companies mc, movie_keyword mk, movie_link ml, title t
where cn.country_code <> '[pl]' and (cn.name like '%Film%' or cn.name like '%Warner%') and ct.kind = 'production companies' and k.keyword = 'sequel'
 and lt.link like '%follow%' and mc.note is null and t.production_year between 1950 and 2013 and lt.id = ml.link_type_id and ml.movie_id = t.id
 and t.id = mk.movie_id and mk.keyword_id = k.id and t.id = mc.movie_id and mc.company_type_id = ct.id and mc.company_id = cn.id
 and ml.movie_id = mk.movie_id and ml.movie_id = mc.movie_id and mk.movie_id = mc.movie_id
