// Plans of the mock, and how far they are at a moment: q64.json is what the engine says of TPC-DS' query 64, with numbers
// of rows as of scale 1.
import { readFileSync } from "node:fs";

const Q64 = JSON.parse(readFileSync(new URL("./q64.json", import.meta.url)));
const node = (id, label, detail, estimated, rows, known, pipeline, filters = []) => ({ id, label, detail, estimated, rows, known, pipeline, filters });
const SMALL = {
  nodes: [
    node(0, "Aggregate", "Aggregate by [o_orderpriority] [count(*), sum(l_extendedprice)]", 5, 5, 2, 1),
    node(1, "HashJoin", "HashJoin Inner l_orderkey = o_orderkey, unique build, fills filter 0", 909_455, 911_240, 130, 1),
    node(2, "Scan lineitem", "TableScan lineitem where l_orderkey in filter 0", 909_455, 911_240, 130, 1, [{ filter: "LIP filter 0 from orders", rows: 5_089_975 }]),
    node(3, "Scan orders", "TableScan orders where o_orderdate < '1993-01-01'", 45_210, 227_089, 32, 0, [{ filter: "zone maps", rows: 12_400 }]),
  ],
  edges: [{ from: 2, to: 1, kind: "stream" }, { from: 3, to: 1, kind: "build" }, { from: 1, to: 0, kind: "blocks" }],
};

/** Windows of time in which each node works, as shares of the whole: inputs before or beside what reads them. */
function windows({ nodes, edges }) {
  const depth = new Map();
  const of = (id) => {
    if (!depth.has(id)) depth.set(id, 1 + Math.max(-1, ...edges.filter((e) => e.to === id).map((e) => of(e.from))));
    return depth.get(id);
  };
  const last = Math.max(...nodes.map((n) => of(n.id))) + 1;
  return new Map(nodes.map((n) => [n.id, [of(n.id) / last * 0.92, Math.min(1, (of(n.id) + 2.2) / last)]]));
}

const WINDOWS = new Map();
const PLANS = { q64: Q64, small: SMALL };
for (const [name, plan] of Object.entries(PLANS)) WINDOWS.set(name, windows(plan));

export const planEvent = (name) => name && {
  nodes: PLANS[name].nodes.map((n) => ({ id: n.id, label: n.label, detail: n.detail, estimated_rows: n.estimated, pipeline: n.pipeline })),
  edges: PLANS[name].edges,
};

/** Counts of the operators when the share `at` of the query's time has passed. */
export function operators(name, at, ms) {
  if (!name) return [];
  return PLANS[name].nodes.map((n) => {
    const [from, to] = WINDOWS.get(name).get(n.id);
    const share = Math.max(0, Math.min(1, (at - from) / (to - from)));
    const done = Math.floor(n.known * share);
    return {
      id: n.id,
      work_orders: { done, running: share > 0 && share < 1 ? Math.min(2, n.known - done) : 0, known: share > 0 ? n.known : 0 },
      rows: Math.round(n.rows * share),
      busy_ms: Math.round(share * (n.known * 3 + n.rows / 90_000) * (ms / 3000) * 100) / 100,
      dropped: n.filters.map((f) => ({ filter: f.filter, rows: Math.round(f.rows * share) })),
    };
  });
}

/** Work orders of a query that took `ms`, on four workers. */
export function timeline(name, ms, workers = 4) {
  const free = new Array(workers).fill(0);
  const orders = [];
  if (!name) return { workers, orders };
  for (const n of [...PLANS[name].nodes].sort((a, b) => WINDOWS.get(name).get(a.id)[0] - WINDOWS.get(name).get(b.id)[0])) {
    const [from, to] = WINDOWS.get(name).get(n.id);
    const each = ((to - from) * ms * 1000 * 0.5) / Math.max(4, n.known);
    for (let k = 0; k < n.known; k++) {
      const worker = free.indexOf(Math.min(...free));
      const begin = Math.max(free[worker], from * ms * 1000);
      const end = begin + each * (0.6 + ((n.id * 7 + k * 13) % 10) / 12);
      free[worker] = end + 4;
      orders.push({ worker, operator: n.id, begin_us: Math.round(begin), end_us: Math.round(end), rows: Math.round(n.rows / n.known) });
    }
  }
  const over = Math.max(...orders.map((o) => o.end_us)) / (ms * 1000);
  return { workers, orders: orders.map((o) => ({ ...o, begin_us: Math.round(o.begin_us / over), end_us: Math.round(o.end_us / over) })) };
}

/** Rows of quickstep_query_plans() of a query. */
export function planRows(name, query_id, factor = 1) {
  const { nodes, edges } = PLANS[name];
  const parent = (id) => edges.find((e) => e.from === id)?.to ?? null;
  return nodes.map((n) => ({
    query_id, part: 0, part_name: "query", node: n.id, parent: parent(n.id), depth: 0,
    operator: n.detail.split(" ")[0], title: n.detail, estimated_rows: n.estimated, rows: n.rows,
    q_error: Math.max(n.estimated, n.rows, 1) / Math.max(1, Math.min(n.estimated, n.rows)), work_orders: n.known,
    busy_ms: Math.round(n.known * 300 * factor * (n.id % 3 === 2 ? 1.4 : 1)) / 100, bytes: n.rows * 16,
    notes: n.filters.map((f) => `${f.filter}: dropped ${f.rows}`).join("; "),
  }));
}
