-- SSB Q2.1 on the denormalised table, flight 2: a category of parts.
select sum(lo_revenue) as rev, d_year, p_brand1
from lineorder_flat
where p_category = 'MFGR#12'
  and s_region = 'AMERICA'
group by d_year, p_brand1
order by d_year, p_brand1
