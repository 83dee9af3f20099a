// Places the nodes of a plan, away from the thread that draws. Layers come from dagre; a plan that is much higher than
// wide, as of forty joins one over the other, is folded into columns, so that its nodes stay legible in the panel.
import * as dagre from "@dagrejs/dagre";
import { NODE_HEIGHT, NODE_WIDTH } from "./size";

export interface Asked { ticket: number; nodes: string[]; edges: { from: string; to: string }[]; width: number; height: number }
export interface Placed { id: string; x: number; y: number; rank: number; column: number }
export interface Drawn { from: string; to: string; points: { x: number; y: number }[] }
export interface Laid { ticket: number; nodes: Placed[]; edges: Drawn[]; width: number; height: number }

const RANK_GAP = 20;
const PITCH = NODE_HEIGHT + RANK_GAP;
const COLUMN_GAP = 44;
const COLUMNS_MAX = 6;

interface Box { left: number; right: number }

/** Cuts ranks into `columns` runs of nearly equal length. */
const cut = (ranks: number, columns: number) => Array.from({ length: columns + 1 }, (_, at) => Math.round((ranks * at) / columns));

export function lay({ ticket, nodes, edges, width, height }: Asked): Laid {
  const graph = new dagre.graphlib.Graph();
  graph.setGraph({ rankdir: "BT", nodesep: 10, ranksep: RANK_GAP, edgesep: 8 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const id of nodes) graph.setNode(id, { width: NODE_WIDTH, height: NODE_HEIGHT });
  for (const { from, to } of edges) graph.setEdge(from, to);
  dagre.layout(graph);

  const heights = [...new Set(nodes.map((id) => Math.round(graph.node(id).y)))].sort((a, b) => a - b);
  const rank = new Map(nodes.map((id) => [id, heights.indexOf(Math.round(graph.node(id).y))]));
  const boxOf = (low: number, high: number): Box => {
    const xs = nodes.filter((id) => rank.get(id)! >= low && rank.get(id)! < high).map((id) => graph.node(id).x as number);
    return { left: Math.min(...xs) - NODE_WIDTH / 2, right: Math.max(...xs) + NODE_WIDTH / 2 };
  };
  // As many columns as give the largest nodes in the panel.
  let best = { scale: 0, cuts: [0, heights.length], boxes: [] as Box[], wide: 0, high: 0 };
  for (let columns = 1; columns <= Math.min(COLUMNS_MAX, heights.length); columns++) {
    const cuts = cut(heights.length, columns);
    const boxes = cuts.slice(1).map((end, at) => boxOf(cuts[at], end));
    const wide = boxes.reduce((sum, box) => sum + box.right - box.left, 0) + COLUMN_GAP * (columns - 1);
    const high = Math.max(...cuts.slice(1).map((end, at) => end - cuts[at])) * PITCH + RANK_GAP;
    const scale = Math.min(width / wide, height / high, 1);
    if (scale > best.scale * 1.05) best = { scale, cuts, boxes, wide, high };
  }
  const { cuts, boxes } = best;
  const starts = boxes.map((_, at) => boxes.slice(0, at).reduce((sum, box) => sum + box.right - box.left + COLUMN_GAP, 0));
  const columnOf = (id: string) => cuts.findLastIndex((first) => first <= rank.get(id)! && first < heights.length);
  const place = (id: string): Placed => {
    const column = columnOf(id);
    return { id, rank: rank.get(id)!, column, x: graph.node(id).x - boxes[column].left + starts[column], y: (rank.get(id)! - cuts[column]) * PITCH + PITCH / 2 + RANK_GAP / 2 };
  };
  const placed = new Map(nodes.map((id) => [id, place(id)]));

  const drawn = edges.map(({ from, to }): Drawn => {
    const [a, b] = [placed.get(from)!, placed.get(to)!];
    const start = { x: a.x, y: a.y - NODE_HEIGHT / 2 };
    const end = { x: b.x, y: b.y + NODE_HEIGHT / 2 };
    if (a.column === b.column) {
      const shift = starts[a.column] - boxes[a.column].left;
      // Bends of edges over several ranks keep their x; ranks are evenly spaced here.
      const bends = (graph.edge(from, to).points as { x: number; y: number }[]).slice(1, -1);
      const middle = a.rank - b.rank > 1
        ? Array.from({ length: a.rank - b.rank - 1 }, (_, at) => {
            const y = start.y - (RANK_GAP + NODE_HEIGHT) * (at + 1) + NODE_HEIGHT / 2;
            const original = heights[a.rank - at - 1];
            const near = bends.reduce((least, p) => (Math.abs(p.y - original) < Math.abs(least.y - original) ? p : least), bends[0] ?? { x: graph.node(from).x, y: 0 });
            return { x: near.x + shift, y };
          })
        : [];
      return { from, to, points: [start, ...middle, end] };
    }
    // From the top of one column back to the bottom of the one before, through the gap between them.
    const gap = starts[b.column + 1] - COLUMN_GAP / 2 + ((a.x + b.x) % 5) * 4 - 8;
    return { from, to, points: [start, { x: a.x, y: start.y - RANK_GAP / 2 }, { x: gap, y: start.y - RANK_GAP / 2 }, { x: gap, y: end.y + RANK_GAP / 2 }, { x: b.x, y: end.y + RANK_GAP / 2 }, end] };
  });
  return { ticket, nodes: [...placed.values()], edges: drawn, width: best.wide, height: best.high };
}

if (typeof WorkerGlobalScope !== "undefined" && self instanceof WorkerGlobalScope) {
  self.onmessage = (event: MessageEvent<Asked>) => self.postMessage(lay(event.data));
}
declare const WorkerGlobalScope: { new (): unknown; prototype: unknown };
