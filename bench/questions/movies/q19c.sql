-- Links between series of companies, with ratings on both sides.
select min(cn1.name) as first_company, min(cn2.name) as second_company, min(t1.title) as first_title, min(t2.title) as second_title, count(*) as n
from company_name cn1, company_name cn2, info_type it1, info_type it2, kind_type kt1, kind_type kt2, link_type lt, movie_companies mc1,
 movie_companies mc2, movie_info_idx mi1, movie_info_idx mi2, movie_link ml, title t1, title t2
where cn1.country_code = '[us]' and it1.info = 'rating' and it2.info = 'rating' and kt1.kind in ('movie', 'video movie', 'tv movie') and kt2.kind in ('movie', 'video movie', 'tv movie') and lt.link in ('version of', 'follows')
 and mi2.info < '9.9' and t2.production_year between 1970 and 2013 and lt.id = ml.link_type_id and t1.id = ml.movie_id and t2.id = ml.linked_movie_id
 and it1.id = mi1.info_type_id and t1.id = mi1.movie_id and kt1.id = t1.kind_id and cn1.id = mc1.company_id and t1.id = mc1.movie_id
 and it2.id = mi2.info_type_id and t2.id = mi2.movie_id and kt2.id = t2.kind_id and cn2.id = mc2.company_id and t2.id = mc2.movie_id
 and ml.movie_id = mi1.movie_id and ml.movie_id = mc1.movie_id and ml.linked_movie_id = mi2.movie_id and ml.linked_movie_id = mc2.movie_id
