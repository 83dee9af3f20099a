"""Questions over data that nothing was built for, beside DuckDB: random order, wide spread keys, text, NULLs and skew.

    python other_data.py --quickstep PATH/quickstep [--other PATH/quickstep] [--rows 3000000] [--rounds 3] [--threads 2]
                         [--data FOLDER] [--no-record] [question ...]

Three sets of data are made once by DuckDB (the third by Quickstep's `CALL tpch`) as Parquet files in the folder, and loaded by both:

* `groups`: of the db-benchmark's kind, nine columns: short and long text keys, integer keys, two small integers, a double; one in
  twenty cells of `v3` and `id3` is NULL.
* `hits`: of ClickBench's kind: a skewed user of 64 bits, skewed texts of which most are empty, long addresses, small integers.
* `o`, `l`, `c`: orders, lineitem and customer of TPC-H, rows in random order, keys spread over 44 bits.

Turns and times are those of `compare/in_turns.py`, plan cache off; a question whose answers differ is named in the record.
`--other` adds a second build of Quickstep, to compare two. The line of JSON goes to `results/other-data.jsonl`, with the
machine's load.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
from pathlib import Path

import duckdb

from compare.in_turns import Differing, Engines, keep

GROUPS = """
COPY (SELECT 'id' || lpad((hash(i * 16) % 100 + 1)::VARCHAR, 3, '0') AS id1, 'id' || lpad((hash(i * 16 + 1) % 100 + 1)::VARCHAR, 3, '0') AS id2,
  CASE WHEN hash(i * 16 + 9) % 20 > 0 THEN 'id' || lpad((hash(i * 16 + 2) % 100000 + 1)::VARCHAR, 10, '0') END AS id3,
  (hash(i * 16 + 3) % 100 + 1)::INTEGER AS id4, (hash(i * 16 + 4) % 100 + 1)::INTEGER AS id5, (hash(i * 16 + 5) % 100000 + 1)::INTEGER AS id6,
  (hash(i * 16 + 6) % 5 + 1)::INTEGER AS v1, (hash(i * 16 + 7) % 15 + 1)::INTEGER AS v2,
  CASE WHEN hash(i * 16 + 10) % 20 > 0 THEN (hash(i * 16 + 8) % 100000000)::DOUBLE / 1e6 END AS v3
FROM range({rows}) r(i)) TO '{file}' (FORMAT parquet)
"""
HITS = """
COPY (SELECT (hash(i) % 4611686018427387904)::BIGINT AS watch, (pow((hash(i * 8 + 1) % 1000003) / 1000003.0, 4) * 400000)::BIGINT * 7919197919 AS userid,
  (pow((hash(i * 8 + 2) % 1000003) / 1000003.0, 5) * 6000)::INTEGER AS counter, TIMESTAMP '2013-07-01' + to_seconds((hash(i * 8 + 3) % 2592000)::BIGINT) AS moment,
  (hash(i * 8 + 4) % 5000 * (hash(i * 8 + 5) % 3))::INTEGER AS region,
  CASE WHEN hash(i * 8 + 6) % 100 < 85 THEN '' ELSE 'phrase ' || (pow((hash(i * 8 + 7) % 1000003) / 1000003.0, 3) * 200000)::BIGINT || ' of words' END AS phrase,
  'http://site' || (pow((hash(i * 9) % 1000003) / 1000003.0, 5) * 3000)::BIGINT || '.example/path/of/some/length?item=' || (pow((hash(i * 9 + 1) % 1000003) / 1000003.0, 3) * 1000)::BIGINT AS url,
  CASE WHEN hash(i * 9 + 2) % 100 < 90 THEN '' ELSE 'model ' || hash(i * 9 + 3) % 160 END AS phone,
  (hash(i * 9 + 4) % 40)::SMALLINT * 32 AS width, ((hash(i * 9 + 5) % 4294967296)::BIGINT - 2147483648)::INTEGER AS ip, (hash(i * 9 + 6) % 12)::SMALLINT AS engine,
  CASE WHEN hash(i * 9 + 7) % 2 = 0 THEN (hash(i * 9 + 8) % 90)::SMALLINT END AS age
FROM range({rows}) r(i)) TO '{file}' (FORMAT parquet)
"""
SPREAD = "* 1099511627689::BIGINT % 17592186044416"
TPCH = {
    "o": f"SELECT o_orderkey {SPREAD} AS ok, o_custkey {SPREAD} AS ck, o_orderdate AS day, o_totalprice AS total, o_orderpriority AS priority, o_comment AS remark FROM orders ORDER BY hash(o_orderkey)",
    "l": f"SELECT l_orderkey {SPREAD} AS ok, l_partkey {SPREAD} AS pk, l_suppkey {SPREAD} AS sk, l_quantity AS quantity, l_extendedprice AS price, l_discount AS discount,"
    " l_shipdate AS shipped, l_shipmode AS mode, l_returnflag AS flag FROM lineitem ORDER BY hash(l_orderkey * 8 + l_linenumber)",
    "c": f"SELECT c_custkey {SPREAD} AS ck, c_name AS name, c_nationkey AS nation, c_acctbal AS balance, c_mktsegment AS segment FROM customer ORDER BY hash(c_custkey)",
}

QUESTIONS = {
    # The db-benchmark's kind.
    "g_sum_by_short_text": "SELECT sum(s), count(*) FROM (SELECT id1, sum(v1) s FROM groups GROUP BY id1)",
    "g_sum_by_two_texts": "SELECT sum(s), count(*) FROM (SELECT id1, id2, sum(v1) s FROM groups GROUP BY id1, id2)",
    "g_sum_mean_by_long_text": "SELECT sum(s), sum(m), count(*) FROM (SELECT id3, sum(v1) s, avg(v3) m FROM groups GROUP BY id3)",
    "g_means_by_small": "SELECT id4, avg(v1), avg(v2), avg(v3) FROM groups GROUP BY id4 ORDER BY id4",
    "g_sums_by_100k": "SELECT sum(a), sum(b), sum(c) FROM (SELECT id6, sum(v1) a, sum(v2) b, sum(v3) c FROM groups GROUP BY id6)",
    "g_median_deviation_two_keys": "SELECT sum(m), sum(d), count(*) FROM (SELECT id4, id5, median(v3) m, stddev(v3) d FROM groups GROUP BY id4, id5)",
    "g_range_by_long_text": "SELECT sum(r), count(*) FROM (SELECT id3, max(v1) - min(v2) r FROM groups GROUP BY id3)",
    "g_top_two_by_100k": "SELECT sum(v3), count(*) FROM (SELECT id6, v3, row_number() OVER (PARTITION BY id6 ORDER BY v3 DESC) n FROM groups WHERE v3 IS NOT NULL) WHERE n <= 2",
    "g_top_two_by_long_text": "SELECT sum(v3), count(*) FROM (SELECT id3, v3, row_number() OVER (PARTITION BY id3 ORDER BY v3 DESC) n FROM groups WHERE v3 IS NOT NULL) WHERE n <= 2",
    "g_corr_two_keys": "SELECT sum(r), count(*) FROM (SELECT id2, id4, pow(corr(v1, v2), 2) r FROM groups GROUP BY id2, id4)",
    "g_six_keys": "SELECT sum(s), sum(n), count(*) FROM (SELECT id1, id2, id3, id4, id5, id6, sum(v3) s, count(*) n FROM groups GROUP BY id1, id2, id3, id4, id5, id6)",
    "g_median_by_100k": "SELECT sum(m), count(*) FROM (SELECT id6, median(v3) m FROM groups GROUP BY id6)",
    "g_median_int_by_100k": "SELECT sum(m), count(*) FROM (SELECT id6, median(v2) m FROM groups GROUP BY id6)",
    "g_texts_by_100k": "SELECT sum(length(s)) FROM (SELECT id6, string_agg(id1, ',') s FROM groups GROUP BY id6)",
    "g_texts_by_small": "SELECT sum(length(s)) FROM (SELECT id4, string_agg(id1, ',') s FROM groups GROUP BY id4)",
    "g_lists_by_100k": "SELECT sum(len(l)) FROM (SELECT id6, list(v2) l FROM groups GROUP BY id6)",
    "g_lists_by_small": "SELECT sum(len(l)) FROM (SELECT id4, list(v3) l FROM groups GROUP BY id4)",
    "g_first_by_100k": "SELECT count(f) FROM (SELECT id6, any_value(v1) f FROM groups GROUP BY id6)",
    "g_arg_max_by_100k": "SELECT count(a) FROM (SELECT id6, arg_max(v1, v3) a FROM groups GROUP BY id6)",
    "g_mode_by_100k": "SELECT count(m) FROM (SELECT id6, mode(v1) m FROM groups GROUP BY id6)",
    "g_sets_deviation": "SELECT sum(d), count(*) FROM (SELECT id1, id4, stddev(v3) d FROM groups GROUP BY ROLLUP (id1, id4))",
    "g_distinct_wide": "SELECT count(*) FROM (SELECT DISTINCT id1, id2, id3, id4, id6, v1 FROM groups)",
    "g_distinct_by_100k": "SELECT sum(n) FROM (SELECT id6, count(DISTINCT id4) n FROM groups GROUP BY id6)",
    "g_approximate": "SELECT approx_count_distinct(id6) BETWEEN 80000 AND 120000, approx_count_distinct(id3) BETWEEN 80000 AND 120000, approx_count_distinct(v3) BETWEEN 2000000 AND 4000000 FROM groups",
    "g_approximate_by_small": "SELECT count(*) FROM (SELECT id4, approx_count_distinct(id6) n FROM groups GROUP BY id4)",
    # ClickBench's kind.
    "h_ninety_sums": "SELECT " + ", ".join(f"sum(width + {by})" for by in range(90)) + " FROM hits",
    "h_distinct_users": "SELECT count(DISTINCT userid) FROM hits",
    "h_distinct_phrases": "SELECT count(DISTINCT phrase) FROM hits",
    "h_users": "SELECT userid, count(*) n FROM hits GROUP BY userid ORDER BY n DESC, userid LIMIT 10",
    "h_users_and_phrases": "SELECT userid, phrase, count(*) n FROM hits GROUP BY userid, phrase ORDER BY n DESC, userid, phrase LIMIT 10",
    "h_three_keys": "SELECT userid, extract(minute FROM moment) m, phrase, count(*) n FROM hits GROUP BY userid, m, phrase ORDER BY n DESC, userid, m, phrase LIMIT 10",
    "h_phrases_distinct_users": "SELECT phrase, count(DISTINCT userid) n FROM hits WHERE phrase <> '' GROUP BY phrase ORDER BY n DESC, phrase LIMIT 10",
    "h_addresses": "SELECT url, count(*) n FROM hits GROUP BY url ORDER BY n DESC, url LIMIT 10",
    "h_addresses_like": "SELECT count(*) FROM hits WHERE url LIKE '%site12%item=9%'",
    "h_case_five_keys": "SELECT engine, counter, CASE WHEN engine = 0 AND width = 0 THEN phrase ELSE '' END src, url dst, width, count(*) n FROM hits GROUP BY ALL ORDER BY n DESC, engine, counter, src, dst, width LIMIT 10",
    "h_watch_ip": "SELECT watch, ip, count(*) n, sum(width), avg(engine) FROM hits GROUP BY watch, ip ORDER BY n DESC, watch, ip LIMIT 10",
    "h_ip_minus": "SELECT ip, ip - 1, ip - 2, count(*) n FROM hits GROUP BY ALL ORDER BY n DESC, ip LIMIT 10",
    "h_region_distinct": "SELECT region, sum(width), count(*) n, avg(age), count(DISTINCT userid) FROM hits GROUP BY region ORDER BY n DESC, region LIMIT 10",
    "h_regexp": "SELECT regexp_replace(url, '^https?://([^/]+)/.*$', '\\1') k, avg(length(url)) l, count(*) n FROM hits GROUP BY k ORDER BY n DESC, k LIMIT 10",
    "h_minutes": "SELECT date_trunc('minute', moment) m, count(*) n FROM hits WHERE counter < 100 GROUP BY m ORDER BY m LIMIT 10",
    # TPC-H's tables, shuffled and sparse.
    "t_join_sum": "SELECT priority, sum(price * (1 - discount)) FROM l JOIN o ON l.ok = o.ok GROUP BY priority ORDER BY priority",
    "t_three_tables": "SELECT nation, count(*), sum(price) FROM l JOIN o ON l.ok = o.ok JOIN c ON o.ck = c.ck WHERE segment = 'BUILDING' AND day < DATE '1996-01-01' GROUP BY nation ORDER BY nation",
    "t_large_orders": "SELECT name, c.ck, o.ok, total, sum(quantity) q FROM c, o, l WHERE o.ok IN (SELECT ok FROM l GROUP BY ok HAVING sum(quantity) > 280) AND c.ck = o.ck AND o.ok = l.ok GROUP BY ALL ORDER BY total DESC, o.ok LIMIT 20",
    "t_orders_of_customers": "SELECT n, count(*) FROM (SELECT c.ck, count(ok) n FROM c LEFT JOIN o ON c.ck = o.ck AND remark NOT LIKE '%special%requests%' GROUP BY c.ck) GROUP BY n ORDER BY n",
    "t_below_mean": "SELECT sum(price) FROM l, (SELECT pk, 0.4 * avg(quantity) a FROM l GROUP BY pk) m WHERE l.pk = m.pk AND quantity < a",
    "t_no_orders": "SELECT count(*), sum(balance) FROM c WHERE NOT EXISTS (SELECT * FROM o WHERE o.ck = c.ck)",
    "t_group_by_order": "SELECT sum(s) FROM (SELECT ok, max(price) s FROM l GROUP BY ok)",
    "t_sort": "SELECT sum(rank) FROM (SELECT rank() OVER (ORDER BY price) rank FROM l)",
}


def tables(folder: Path, rows: int, quickstep: str) -> dict[str, Path]:
    folder.mkdir(parents=True, exist_ok=True)
    files = {name: folder / f"{name}-{rows}.parquet" for name in ("groups", "hits", *TPCH)}
    connection = duckdb.connect()
    for name, text in (("groups", GROUPS), ("hits", HITS)):
        if not files[name].exists():
            connection.execute(text.format(rows=rows, file=files[name]))
    if not all(files[name].exists() for name in TPCH):
        copies = [f"COPY ({text}) TO '{files[name]}' (FORMAT parquet)" for name, text in TPCH.items()]
        script = "; ".join([f"CALL tpch(scale => {rows / 6_000_000})", *copies])
        subprocess.run([quickstep, "--no-startup", "--command", script], check=True, stdout=subprocess.DEVNULL)
    return files


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("questions", nargs="*", help="names, or beginnings of names")
    parser.add_argument("--quickstep", required=True)
    parser.add_argument("--other")
    parser.add_argument("--rows", type=int, default=3_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--data", type=Path, default=Path("/tmp/quickstep-other-data"))
    parser.add_argument("--no-record", action="store_true")
    args = parser.parse_args()
    questions = {
        name: text for name, text in QUESTIONS.items() if not args.questions or name.startswith(tuple(args.questions))
    }
    files = tables(args.data, args.rows, args.quickstep)
    engines = Engines(args.quickstep, args.other, args.threads, len(questions) * (args.rounds + 1) + len(files))
    for name, file in files.items():
        engines.everywhere(f"CREATE TABLE {name} AS SELECT * FROM read_parquet('{file}')")
    differing, series = [], {}
    for name, text in questions.items():
        medians, same = engines.ask(text, args.rounds, Differing.IS_TOLD)
        if not same:
            differing.append(name)
        ratio = round(medians["duckdb_cpu"] / medians["quickstep_cpu"], 2)
        series[name] = {**medians, "duckdb_over_quickstep_cpu": ratio}
        beside = f"   other {medians['other_cpu']:8.1f}" if args.other else ""
        print(f"{name:28} CPU ms {medians['quickstep_cpu']:8.1f}{beside}   DuckDB {medians['duckdb_cpu']:8.1f}   {ratio:6.2f}x   (ms {medians['quickstep']:.1f}, {medians['duckdb']:.1f})", flush=True)
    engines.close()
    ratios = [figures["duckdb_over_quickstep_cpu"] for figures in series.values()]
    mean = round(statistics.geometric_mean(ratios), 2)
    walls = [figures["duckdb"] / figures["quickstep"] for figures in series.values()]
    wall = round(statistics.geometric_mean(walls), 2)
    print(f"geometric mean {mean}x of CPU time, more on {sum(ratio < 1 for ratio in ratios)} of {len(ratios)}")
    print(f"geometric mean {wall}x of time, slower on {sum(ratio < 1 for ratio in walls)} of {len(walls)}")
    if not args.no_record:
        keep(
            "other-data.jsonl",
            "data and questions of others' kinds (bench/other_data.py); medians of CPU time count",
            threads=args.threads, rows=args.rows, rounds=args.rounds, geometric_mean_cpu=mean, geometric_mean=wall,
            differing=differing, series=series,
        )


if __name__ == "__main__":
    main()
