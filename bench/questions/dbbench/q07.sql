-- The range by a long text.
select sum(r), count(*) from (select id3, max(v1) - min(v2) as r from g group by id3) as t
