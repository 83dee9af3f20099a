-- SSB Q2.3 on the denormalised table, flight 2: one brand.
select sum(lo_revenue) as rev, d_year, p_brand1
from lineorder_flat
where p_brand1 = 'MFGR#2221'
  and s_region = 'EUROPE'
group by d_year, p_brand1
order by d_year, p_brand1
