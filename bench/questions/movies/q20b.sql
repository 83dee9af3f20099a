-- Genres, keywords, casts and companies together.
select min(cn.name) as company, min(mi.info) as genre, min(n.name) as person, min(t.title) as title, count(*) as c
from cast_info ci, company_name cn, info_type it1, info_type it2, keyword k, movie_companies mc, movie_info mi, movie_info_idx mi_idx, movie_keyword mk,
 name n, title t
where ci.note in ('(voice)', '(uncredited)') and cn.name like '%Warner%' and it1.info = 'genres' and it2.info = 'votes' and k.keyword in ('love', 'marriage') and mi.info in ('Romance', 'Drama', 'Comedy')
 and n.gender = 'm' and t.id = mi.movie_id and t.id = mi_idx.movie_id and t.id = ci.movie_id and t.id = mk.movie_id and t.id = mc.movie_id
 and ci.movie_id = mi.movie_id and ci.movie_id = mi_idx.movie_id and ci.movie_id = mk.movie_id and ci.movie_id = mc.movie_id
 and mi.movie_id = mi_idx.movie_id and n.id = ci.person_id and it1.id = mi.info_type_id and it2.id = mi_idx.info_type_id and k.id = mk.keyword_id
 and cn.id = mc.company_id
