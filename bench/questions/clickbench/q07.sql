-- The ends of a date column.
select min(EventDate), max(EventDate) from hits
