-- Votes and budgets by people with a note.
select min(mi.info) as budget, min(mi_idx.info) as votes, min(t.title) as title, count(*) as n
from cast_info ci, info_type it1, info_type it2, movie_info mi, movie_info_idx mi_idx, name n, title t
where ci.note in ('(writer)') and it1.info = 'genres' and it2.info = 'votes' and n.gender = 'f' and t.id = mi.movie_id and t.id = mi_idx.movie_id
 and t.id = ci.movie_id and ci.movie_id = mi.movie_id and ci.movie_id = mi_idx.movie_id and mi.movie_id = mi_idx.movie_id
 and n.id = ci.person_id and it1.id = mi.info_type_id and it2.id = mi_idx.info_type_id
