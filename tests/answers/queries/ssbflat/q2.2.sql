-- SSB Q2.2 on the denormalised table, flight 2: a range of brands.
select sum(lo_revenue) as rev, d_year, p_brand1
from lineorder_flat
where p_brand1 between 'MFGR#2221' and 'MFGR#2228'
  and s_region = 'ASIA'
group by d_year, p_brand1
order by d_year, p_brand1
