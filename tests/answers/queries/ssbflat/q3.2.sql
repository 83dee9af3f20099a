-- SSB Q3.2 on the denormalised table, flight 3: by cities of one nation.
select c_city, s_city, d_year, sum(lo_revenue) as revenue
from lineorder_flat
where c_nation = 'UNITED STATES'
  and s_nation = 'UNITED STATES'
  and d_year between 1992 and 1997
group by c_city, s_city, d_year
order by d_year asc, revenue desc
