-- Three aggregates of small integers.
select sum(AdvEngineID), count(*), avg(ResolutionWidth) from hits
