// A query by its number: its row of the history and its plan, in the form in which one that this page began has them. One
// that runs, begun by whomever, is asked for again until it has ended.
import { asPlan, call, objects, type OperatorCounts, type Plan, type PlanEdge, type PlanNode } from "./api";
import { historyOf, planOf } from "./sql";

export interface PastRow {
  id: number; began: string; state: string; total_ms: number; planning_ms: number; execution_ms: number; cpu_ms: number; queued_ms: number; rows: number; work_orders: number;
  memory_peak_bytes: number; worst_q_error: number | null; priority: number; workers: number; error: string | null; query: string;
}
export interface PlanRow {
  part: number; part_name: string; node: number; parent: number | null; operator: string; title: string; estimated_rows: number; rows: number; q_error: number | null;
  work_orders: number; busy_ms: number | null; bytes: number; notes: string;
}

/** How often a query that runs is asked for. */
const AGAIN_MS = 250;

export class PastQuery {
  ended = $state(true);
  plan = $state.raw<Plan | null>(null);
  operators = $state.raw<Map<string, OperatorCounts>>(new Map());
  selected = $state<string | null>(null);
  row = $state.raw<PastRow | null>(null);
  loaded = $state(false);

  constructor(readonly query: number) {}

  /** What runs and has no row of the history yet: its state and text. */
  running = $state.raw<{ state: string; sql: string } | null>(null);
  private timer = 0;
  private stopped = false;

  async load() {
    const [row] = await objects<PastRow>(historyOf(this.query));
    try {
      const told = await call<{ state: string; sql: string; nodes: PlanNode[]; edges: PlanEdge[]; operators: OperatorCounts[] }>("GET", `/v1/queries/${this.query}/plan`);
      // The same plan again would be placed again.
      if (this.plan?.nodes.length !== told.nodes.length) this.plan = asPlan(told);
      this.operators = new Map(told.operators.map((counts) => [String(counts.id), { ...counts, id: String(counts.id) }]));
      this.ended = row !== undefined || ["finished", "failed", "cancelled"].includes(told.state);
      this.running = this.ended ? null : { state: told.state, sql: told.sql };
    } catch {
      this.ended = true;
      this.running = null;
      this.take(await planRows(this.query));
    }
    this.row = row ?? null;
    this.loaded = true;
    if (!this.ended && !this.stopped) this.timer = setTimeout(() => void this.load().catch(() => undefined), AGAIN_MS) as unknown as number;
  }

  stop() {
    this.stopped = true;
    clearTimeout(this.timer);
  }

  private take(rows: PlanRow[]) {
    if (!rows.length) return;
    const id = (part: number, node: number) => `${part}.${node}`;
    this.plan = {
      nodes: rows.map((row) => ({ id: id(row.part, row.node), label: label(row), detail: row.title, estimated_rows: row.estimated_rows })),
      edges: rows.filter((row) => row.parent !== null).map((row) => ({ from: id(row.part, row.node), to: id(row.part, row.parent!), kind: "stream" })),
    };
    this.operators = new Map(rows.map((row) => [id(row.part, row.node), {
      id: id(row.part, row.node), work_orders: { done: row.work_orders, running: 0, known: row.work_orders }, rows: Number(row.rows), busy_ms: row.busy_ms ?? 0, dropped: droppedOf(row.notes),
    }]));
  }
}

export const planRows = (query: number) => objects<PlanRow>(planOf(query));
const label = (row: PlanRow) => (row.operator === "TableScan" ? `Scan ${row.title.split(" ")[1] ?? ""}` : row.operator);

/** What the notes say of filters: `filter 0 from orders: tested 60,175, dropped 51,048`. */
function droppedOf(notes: string) {
  return [...notes.matchAll(/(filter \d+[^:;]*): (?:[^;]*?)dropped ([\d,]+)/g)].map(([, filter, rows]) => ({ filter, rows: Number(rows.replaceAll(",", "")) }));
}
