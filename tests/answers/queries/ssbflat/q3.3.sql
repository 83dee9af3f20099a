-- SSB Q3.3 on the denormalised table, flight 3: between two cities.
select c_city, s_city, d_year, sum(lo_revenue) as revenue
from lineorder_flat
where (c_city = 'UNITED KI1' or c_city = 'UNITED KI5')
  and (s_city = 'UNITED KI1' or s_city = 'UNITED KI5')
  and d_year between 1992 and 1997
group by c_city, s_city, d_year
order by d_year asc, revenue desc
