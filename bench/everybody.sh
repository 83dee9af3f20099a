#!/bin/bash
# Measures every suite on every engine that can be had, and draws the result: `make bench` calls this.
#
#   ENGINES=quickstep,duckdb,...   default: all of them
#   SUITES="tpch ssb"              default: all eight
#   SCALE=1, PYTHON=python3
#   COMPARE="--runs 3"             more options of `python -m compare`
#
# Engines that take much memory or time get a run of their own with Quickstep in it, so that the others fit into
# memory together. A wrong answer or a failed query ends nothing: the report names it. Ends with 3 if the machine was
# busy with something else during a run: that run is recorded as such and not drawn.
set -eu
cd "$(dirname "$0")"
python=${PYTHON:-python3}
scale=${SCALE:-1}
suites=${SUITES:-tpch ssb ssbflat tpcds tpchshuffled clickbench dbbench movies}
engines=${ENGINES:-quickstep,duckdb,hyper,datafusion,polars,monetdb,chdb,polars-float64,postgres,spark}
heavy=" polars-float64 postgres spark "

usable=$("$python" install_peers.py ${engines//,/ })
light="" slow=""
for engine in ${usable//,/ }; do
  [ "$engine" = quickstep ] && continue
  case "$heavy" in
    *" $engine "*) slow+=",$engine" ;;
    *) light+=",$engine" ;;
  esac
done

compare() { # suite, engines, options
  local status=0
  "$python" -m compare --suite "$1" --scale "$scale" --threads 2 --engines "quickstep$2" --series everybody \
    "${@:3}" ${COMPARE:-} || status=$?
  # 1: an engine failed or answered differently, which the report tells; 3: the machine was busy, go on with the rest.
  case "$status" in
    0 | 1) ;;
    3) disturbed=3 ;;
    *) exit "$status" ;;
  esac
}
disturbed=0

for suite in $suites; do
  "$python" prepare.py --suite "$suite" --scale "$scale"
  [ -z "$light" ] || compare "$suite" "$light" --runs 5 --slow 2 --slow-runs 3
  apart=$slow
  # Floats for decimals are the same question where there are no decimals.
  case "$suite" in ssb* | clickbench | dbbench | movies) apart=${slow/,polars-float64/} ;; esac
  [ -z "$apart" ] || compare "$suite" "$apart" --runs 4 --slow 0.4 --slow-runs 2
done
[ "$scale" != 1 ] || "$python" everybody.py
exit "$disturbed"
