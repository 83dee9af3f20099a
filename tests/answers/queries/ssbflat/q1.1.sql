-- SSB Q1.1 on the denormalised table, flight 1: one year, by the fact table's own columns.
select sum(lo_extendedprice * lo_discount) as revenue
from lineorder_flat
where d_year = 1993
  and lo_discount between 1 and 3
  and lo_quantity < 25
