-- The two largest of each group.
select sum(v3), count(*) from (select id6, v3, row_number() over (partition by id6 order by v3 desc) as n from g where v3 is not null) as t where n <= 2
