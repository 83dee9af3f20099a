-- SSB Q4.2 on the denormalised table, flight 4: two years, by supplier's nation and category.
select d_year, s_nation, p_category, sum(lo_revenue - lo_supplycost) as profit
from lineorder_flat
where c_region = 'AMERICA'
  and s_region = 'AMERICA'
  and (d_year = 1997 or d_year = 1998)
  and (p_mfgr = 'MFGR#1' or p_mfgr = 'MFGR#2')
group by d_year, s_nation, p_category
order by d_year, s_nation, p_category
