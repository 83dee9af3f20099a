-- A piece of text inside long texts.
select count(*) from hits where URL like '%shop%'
