-- SSB Q3.1 on the denormalised table, flight 3: by nations.
select c_nation, s_nation, d_year, sum(lo_revenue) as revenue
from lineorder_flat
where c_region = 'ASIA'
  and s_region = 'ASIA'
  and d_year between 1992 and 1997
group by c_nation, s_nation, d_year
order by d_year asc, revenue desc
