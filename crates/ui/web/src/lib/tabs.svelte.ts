// Tabs of the editor. Their texts and parameters are kept by the browser; results are not.
import { ApiError } from "./api";
import { Run } from "./run.svelte";
import { type Field, parameters, statementAt, statements, valueOf, writtenAt } from "./script";
import { read, write } from "./session.svelte";

const EXAMPLE = `-- Ctrl+Enter runs the statement at the cursor, Ctrl+Shift+Enter all of them.
SELECT table_name, rows, bytes, blocks FROM quickstep_tables();
`;

/** A run and where in its tab's text the statement stood. */
export interface Placed { run: Run; from: number; to: number; moved: { at: number; by: number }[] }

export class Tab {
  name = $state("");
  text = $state("");
  fields = $state<Record<string, Field>>({});
  runs = $state.raw<Placed[]>([]);
  shown = $state(0);
  /** What the editor last said: the selection, or the cursor twice. */
  selection = { from: 0, to: 0 };
  /** The text is no longer what ran, so that places of errors mean nothing. */
  edited = false;

  constructor(readonly id: string, name: string, text: string) {
    this.name = name;
    this.text = text;
  }

  get placed(): Placed | null {
    return this.runs[this.shown] ?? null;
  }
  get run(): Run | null {
    return this.placed?.run ?? null;
  }
  get busy() {
    return this.runs.some(({ run }) => !run.ended);
  }

  /** What would run: the selection's statements, or the one at the cursor. */
  target(all = false): { from: number; to: number }[] {
    if (all) return statements(this.text);
    const { from, to } = this.selection;
    if (to > from) return statements(this.text.slice(from, to)).map((s) => ({ from: s.from + from, to: s.to + from }));
    const one = statementAt(this.text, from);
    return one ? [one] : [];
  }

  /** Runs statements one after the other, up to the first that fails. */
  async execute(targets: { from: number; to: number }[]) {
    if (this.busy || !targets.length) return;
    for (const { run } of this.runs) run.release();
    this.runs = [];
    this.shown = 0;
    this.edited = false;
    for (const target of targets) {
      const { sql, names, moved } = parameters(this.text.slice(target.from, target.to));
      const run = new Run(sql, names.map((name) => valueOf(this.fields[name] ?? { text: "", kind: "null" })));
      this.runs = [...this.runs, { run, ...target, moved }];
      this.shown = this.runs.length - 1;
      void run.begin();
      await run.ends();
      if (run.state !== "finished") break;
    }
  }

  /** Where the shown run's error stands in the text. */
  faultAt(): { from: number; to: number; message: string; hint: string } | null {
    const placed = this.placed;
    const fault = placed?.run.fault;
    if (!placed || !fault?.position || this.edited) return null;
    const from = placed.from + writtenAt(placed.moved, fault.position.offset);
    const to = Math.max(from + 1, placed.from + writtenAt(placed.moved, fault.position.offset + fault.position.length));
    return { from, to, message: fault.message, hint: fault.hint ?? "" };
  }

  cancel() {
    for (const { run } of this.runs) if (!run.ended) void run.cancel();
  }
}

class Tabs {
  list = $state<Tab[]>([]);
  current = $state(0);
  private timer = 0;

  constructor() {
    try {
      const kept = JSON.parse(read("tabs") ?? "[]") as { id: string; name: string; text: string; fields?: Record<string, Field> }[];
      this.list = kept.map((tab) => {
        const made = new Tab(tab.id, tab.name, tab.text);
        made.fields = tab.fields ?? {};
        return made;
      });
      this.current = Math.min(Number(read("tab") ?? 0) || 0, Math.max(0, this.list.length - 1));
    } catch (error) {
      if (error instanceof ApiError) throw error;
      this.list = [];
    }
    if (!this.list.length) this.list = [new Tab("1", "Query 1", EXAMPLE)];
  }

  get tab(): Tab {
    return this.list[this.current];
  }

  add(text = "", name?: string) {
    const highest = Math.max(0, ...this.list.map((tab) => Number(/^Query (\d+)$/.exec(tab.name)?.[1] ?? 0)));
    this.list = [...this.list, new Tab(String(Date.now()), name ?? `Query ${highest + 1}`, text)];
    this.current = this.list.length - 1;
    this.keep();
  }

  close(at: number) {
    for (const { run } of this.list[at].runs) run.release();
    this.list = this.list.filter((_, index) => index !== at);
    if (!this.list.length) this.list = [new Tab(String(Date.now()), "Query 1", "")];
    this.current = Math.min(this.current > at ? this.current - 1 : this.current, this.list.length - 1);
    this.keep();
  }

  /** Writes tabs down, once for many changes. */
  keep() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.keepNow(), 300) as unknown as number;
  }

  keepNow() {
    write("tabs", JSON.stringify(this.list.map(({ id, name, text, fields }) => ({ id, name, text, fields }))));
    write("tab", String(this.current));
  }
}

export const tabs = new Tabs();
addEventListener("pagehide", (event) => {
  tabs.keepNow();
  // The server need not hold what nobody will look at.
  if (!event.persisted) for (const tab of tabs.list) for (const { run } of tab.runs) run.release();
});
