-- Sum and mean by a long text.
select sum(s), sum(m), count(*) from (select id3, sum(v1) as s, avg(v3) as m from g group by id3) as t
