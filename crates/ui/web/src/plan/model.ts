// What the plan and the timeline say about a node, from its counts.
import type { OperatorCounts, Plan, PlanNode } from "../lib/api";
import { ratio } from "../lib/format";

/** A query whose plan is shown, while it runs or afterwards. */
export interface Observed {
  query: number | null;
  ended: boolean;
  plan: Plan | null;
  operators: Map<string, OperatorCounts>;
  selected: string | null;
}

export const FAMILIES = ["scan", "join", "group", "sort", "other"] as const;
export type Family = (typeof FAMILIES)[number];
const FAMILY_NAMES: Record<Family, string> = { scan: "Scans", join: "Joins", group: "Groups", sort: "Sorts, windows", other: "Others" };
export const familyName = (family: Family) => FAMILY_NAMES[family];

export function familyOf(node: PlanNode): Family {
  const label = `${node.label} ${node.detail}`.toLowerCase();
  if (/^(table)?\s?scan|^values|^\w*scan/.test(label)) return "scan";
  if (/^\w*join/.test(label)) return "join";
  if (/^aggregate|^distinct|^group/.test(label)) return "group";
  if (/^sort|^window|^limit|^top/.test(label)) return "sort";
  return "other";
}
export const familyColor = (family: Family) => `var(--series-${{ scan: 3, join: 1, group: 2, sort: 4, other: 8 }[family]})`;

export interface NodeFacts {
  done: number;
  running: number;
  known: number;
  /** Share of the known work orders that are done, of those that run the half. */
  share: number;
  rows: number;
  busy: number;
  dropped: { filter: string; rows: number }[];
  droppedRows: number;
  state: "waiting" | "running" | "done";
  /** How far the estimate was off, once the rows are final. */
  off: number | null;
}

export function factsOf(node: PlanNode, counts: OperatorCounts | undefined, ended: boolean): NodeFacts {
  const { done = 0, running = 0, known = 0 } = counts?.work_orders ?? {};
  const complete = known > 0 && done >= known;
  const rows = counts?.rows ?? 0;
  const final = ended || complete;
  return {
    done, running, known, rows, busy: counts?.busy_ms ?? 0,
    share: known > 0 ? done / known : 0,
    dropped: counts?.dropped ?? [], droppedRows: (counts?.dropped ?? []).reduce((sum, filter) => sum + filter.rows, 0),
    state: complete || (ended && known > 0) ? "done" : done + running > 0 ? "running" : "waiting",
    off: final && counts && node.estimated_rows !== null ? ratio(node.estimated_rows, rows) : null,
  };
}

/** Estimates are remarked upon from this factor on. */
export const OFF_NOTED = 4;
