-- SSB Q4.1 on the denormalised table, flight 4: profit by nation.
select d_year, c_nation, sum(lo_revenue - lo_supplycost) as profit
from lineorder_flat
where c_region = 'AMERICA'
  and s_region = 'AMERICA'
  and (p_mfgr = 'MFGR#1' or p_mfgr = 'MFGR#2')
group by d_year, c_nation
order by d_year, c_nation
