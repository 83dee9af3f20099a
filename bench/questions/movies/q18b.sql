-- Complete casts of superheroes.
select min(chn.name) as character, min(t.title) as title, count(*) as c
from complete_cast cc, comp_cast_type cct1, comp_cast_type cct2, char_name chn, cast_info ci, keyword k, kind_type kt, movie_keyword mk, name n, title t
where cct1.kind = 'cast' and cct2.kind like '%complete%' and k.keyword in ('violence', 'blood') and kt.kind = 'episode' and t.production_year > 2000 and kt.id = t.kind_id
 and t.id = mk.movie_id and t.id = ci.movie_id and t.id = cc.movie_id and mk.movie_id = ci.movie_id and mk.movie_id = cc.movie_id
 and ci.movie_id = cc.movie_id and chn.id = ci.person_role_id and n.id = ci.person_id and k.id = mk.keyword_id and cct1.id = cc.subject_id
 and cct2.id = cc.status_id
