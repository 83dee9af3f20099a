// Every statement that the panels send, in one place: each panel shows its own, and a test runs them all on an engine.

/** A text as a literal of SQL. */
export const literal = (text: string) => `'${text.replaceAll("'", "''")}'`;
/** A name, quoted if it has to be. */
export const name = (text: string) => (/^[a-z_][a-z0-9_]*$/.test(text) ? text : `"${text.replaceAll('"', '""')}"`);

export const TABLES = "SELECT schema_name, table_name, rows, bytes, blocks, layout, comment FROM quickstep_tables() ORDER BY schema_name, table_name";
export const VIEWS = "SELECT schema_name, view_name, sql, comment FROM quickstep_views() ORDER BY schema_name, view_name";
export const COLUMNS =
  "SELECT schema_name, table_name, column_name, data_type, is_nullable, key, null_count, distinct_estimate, bytes, comment FROM quickstep_columns() ORDER BY schema_name, table_name, column_index";
export const HISTORY =
  "SELECT id, began, state, total_ms, planning_ms, cpu_ms, rows, work_orders, memory_peak_bytes, worst_q_error, error, query FROM quickstep_query_history() ORDER BY id DESC";
export const MEMORY = "SELECT kind, query_id, bytes FROM quickstep_memory()";
export const POOL = "SELECT resident_bytes, hits, reads, read_bytes, evictions, evicted_bytes, temporary_bytes FROM quickstep_pool()";
export const WORKLOAD = "SELECT statement, tables, executions, milliseconds FROM quickstep_workload() ORDER BY milliseconds DESC";
export const POLICY = "SELECT setting FROM quickstep_settings() WHERE name = 'policy'";
export const QUERIES = "SELECT id, session, state, priority, share, cpu_ms, memory_bytes, progress, query FROM quickstep_queries()";
export const ADVISE = "CALL advise(workload)";

export const historyOf = (id: number) =>
  `SELECT id, began, state, total_ms, planning_ms, execution_ms, cpu_ms, queued_ms, rows, work_orders, memory_peak_bytes, worst_q_error, priority, workers, error, query FROM quickstep_query_history() WHERE id = ${id}`;
export const planOf = (id: number) =>
  `SELECT part, part_name, node, parent, operator, title, estimated_rows, rows, q_error, work_orders, busy_ms, bytes, notes FROM quickstep_query_plans() WHERE query_id = ${id} ORDER BY part, node`;
export const ordersOf = (id: number) =>
  `SELECT worker, segment, operators, start_ms, end_ms, waited_ms, rows FROM quickstep_work_orders() WHERE query_id = ${id} ORDER BY start_ms`;
export const compare = (first: number, second: number) => `CALL compare_queries(${first}, ${second})`;
export const pause = (id: number) => `PAUSE QUERY ${id}`;
export const resume = (id: number) => `RESUME QUERY ${id}`;
export const cancel = (id: number) => `CANCEL QUERY ${id}`;
export const priority = (id: number, value: number) => `ALTER QUERY ${id} SET priority = ${value}`;
