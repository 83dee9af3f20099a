// What the mock answers to SQL over the system functions: a list of columns or `*`, one source, and an equality.
import { readFileSync } from "node:fs";
import { planRows } from "./plans.mjs";

const catalog = JSON.parse(readFileSync(new URL("./catalog.json", import.meta.url)));
const history = (id, query, ms, plan, more = {}) => ({
  id, session: 1, began: `2026-11-26 18:${String(id % 60).padStart(2, "0")}:07.213027+00`, state: "finished", total_ms: ms, planning_ms: Math.min(18.2, ms * 0.1),
  kept_plan: false, execution_ms: ms * 0.9, cpu_ms: ms * 3.1, queued_ms: 0.1, waited_ms: 0, held_ms: 0, rows: 42, work_orders: 640,
  memory_peak_bytes: 187_204_608, memory_expected_bytes: 150_000_000, priority: 1, workers: 4, worst_q_error: 61.2, sqlstate: null, error: null,
  query, summary: "", plan, ...more,
});
export const HISTORY = [
  history(11, "SELECT o_orderpriority, count(*) FROM orders JOIN lineitem ON l_orderkey = o_orderkey GROUP BY 1", 412.7, "small", { rows: 5, worst_q_error: 5.02, work_orders: 294 }),
  history(12, "SET runtime_filters = off", 0.2, null, { rows: 0, worst_q_error: null, work_orders: 0 }),
  history(13, "SELECT o_orderpriority, count(*) FROM orders JOIN lineitem ON l_orderkey = o_orderkey GROUP BY 1", 998.3, "small", { rows: 5, factor: 2.4, worst_q_error: 5.02, work_orders: 294 }),
  history(14, "SELECT o_ordrekey FROM orders", 0.4, null, { state: "failed", rows: 0, sqlstate: "42703", error: 'column "o_ordrekey" does not exist', worst_q_error: null, work_orders: 0 }),
  history(15, "WITH cs_ui AS (SELECT cs_item_sk, sum(cs_ext_list_price) AS sale FROM catalog_sales JOIN catalog_returns USING (cs_item_sk) GROUP BY cs_item_sk), cross_sales AS (SELECT * FROM store_sales) SELECT * FROM cross_sales", 5840.2, "q64"),
];
const WORKLOAD = [
  { statement: "SELECT count(*) FROM lineitem WHERE l_shipdate = ?", tables: "lineitem", executions: 214, milliseconds: 913.4 },
  { statement: "SELECT sum(l_extendedprice) FROM lineitem WHERE l_partkey = ?", tables: "lineitem", executions: 97, milliseconds: 644.0 },
  { statement: "SELECT o_orderpriority, count(*) FROM orders JOIN lineitem ON l_orderkey = o_orderkey GROUP BY ?", tables: "lineitem, orders", executions: 2, milliseconds: 1411.0 },
];
const advice = (table_name, design, milliseconds, gain, least, greatest, bytes, text, statement = null) => ({ table_name, design, milliseconds, gain, least, greatest, bytes, making_ms: 120.5, advice: text, statement });
const ADVICE = [
  advice("lineitem", "compressed_column", 4.27, null, null, null, 341_504_000, "as it is; 3 statements, 8 of 82 blocks sampled, 9 rounds"),
  advice("lineitem", "compressed_column, sort l_shipdate", 1.31, 3.26, 2.91, 3.52, 329_100_000, "apply", "ALTER TABLE lineitem SET (sort = 'l_shipdate')"),
  advice("lineitem", "compressed_column, csbtree(l_partkey)", 1.74, 2.45, 2.02, 2.77, 431_100_000, "gains too"),
  advice("lineitem", "compressed_column, bloom(l_partkey)", 3.12, 1.37, 1.22, 1.41, 352_800_000, "gains too"),
  advice("lineitem", "packed_row", 31.4, 0.14, 0.12, 0.15, 702_000_000, "slower"),
];

const SOURCES = {
  quickstep_tables: () => catalog.tables,
  quickstep_columns: () => catalog.columns,
  quickstep_constraints: () => catalog.constraints,
  quickstep_views: () => [{ schema_name: "main", view_name: "revenue", sql: "SELECT l_suppkey, sum(l_extendedprice * (1 - l_discount)) AS total FROM lineitem GROUP BY l_suppkey", comment: null }],
  quickstep_indexes: () => [],
  quickstep_query_history: () => HISTORY,
  quickstep_query_plans: () => HISTORY.filter((h) => h.plan).flatMap((h) => planRows(h.plan, h.id, h.factor)),
  quickstep_workload: () => WORKLOAD,
  quickstep_pool: () => [{ resident_bytes: 412_000_000, hits: 10_233, reads: 120, read_bytes: 88_000_000, read_ahead: 40, evictions: 3, evicted_bytes: 9_000_000, written_bytes: 0, temporary_bytes: 0 }],
  quickstep_memory: () => [
    { kind: "limit", query_id: null, bytes: 8_589_934_592 }, { kind: "used", query_id: null, bytes: 1_912_602_624 }, { kind: "peak", query_id: null, bytes: 2_812_602_624 },
    { kind: "blocks", query_id: null, bytes: 412_000_000 }, { kind: "query", query_id: 21, bytes: 932_602_624 }, { kind: "query", query_id: 22, bytes: 212_602_624 },
  ],
  quickstep_settings: () => [{ name: "policy", setting: "proportional", description: "how queries share the workers" }, { name: "workers", setting: "4", description: "threads" }],
};

const typeOf = (value) => typeof value === "number" ? (Number.isInteger(value) ? "BIGINT" : "DOUBLE") : typeof value === "boolean" ? "BOOLEAN" : "TEXT";
function table(list, names) {
  const columns = names.map((name) => ({ name, type: typeOf(list.find((row) => row[name] != null)?.[name]) }));
  return { columns, rows: list.map((row) => names.map((name) => row[name] ?? null)) };
}

/** The answer, `null` when the statement is not about the system, or an error as the server has them. */
export function systemAnswer(sql) {
  const text = sql.trim().replace(/\s+/g, " ");
  if (/^CALL advise\(/i.test(text)) return table(ADVICE, Object.keys(ADVICE[0]));
  const compared = /^CALL compare_queries\((\d+), (\d+)\)/i.exec(text);
  if (compared) return table([{ what: "conclusion", first: null, second: null, difference: `query ${compared[2]} was 2.4x slower, 998.3 ms instead of 412.7 ms; the largest part of it is TableScan lineitem; runtime_filters is off instead of on` }], ["what", "first", "second", "difference"]);
  const found = /^SELECT (.+?) FROM (quickstep_\w+)\(?\)?(?: WHERE (\w+) = (\d+|'[^']*'))?(?: ORDER BY .+)?$/i.exec(text);
  if (!found) return null;
  const [, list, source, column, literal] = found;
  if (!SOURCES[source]) return { error: { code: "42883", message: `function ${source}() does not exist`, hint: null } };
  let rows = SOURCES[source]();
  if (column) rows = rows.filter((row) => String(row[column]) === literal.replace(/'/g, ""));
  const names = list === "*" ? Object.keys(SOURCES[source]()[0] ?? {}) : list.split(",").map((n) => n.trim());
  for (const name of names) if (SOURCES[source]().length && !(name in SOURCES[source]()[0])) return { error: { code: "42703", message: `column "${name}" does not exist`, hint: null } };
  return table(rows, names);
}

export const relations = () => catalog.tables.map((t) => ({ name: t.table_name, columns: catalog.columns.filter((c) => c.table_name === t.table_name).map((c) => [c.column_name, c.data_type]) }));
