// A statement that was begun: its state from the server's events, and its rows, fetched page by page as they are looked at.
import { type Column, type Fault, type OperatorCounts, type Plan, type PlanEdge, type PlanNode, type Value, ApiError, asPlan, call, faultOf } from "./api";

export type State = "planning" | "queued" | "running" | "paused" | "finished" | "failed" | "cancelled";
const ENDED: State[] = ["finished", "failed", "cancelled"];

/** Rows that are asked for at once. */
export const PAGE_ROWS = 200;
/** Pages that are kept of a result: what was looked at longest ago goes first. */
const PAGES_MAX = 80;

/** How long a broken stream of events may take to come back. */
const LOST_MS = 10_000;

/** One session of the server for each tab of the browser. */
const CONNECTION = `page-${crypto.getRandomValues(new Uint32Array(1))[0].toString(36)}`;

interface Progress {
  state: State;
  fraction: number | null;
  elapsed_ms: number;
  rows: number;
  memory_bytes: number;
  spilled_bytes: number;
  operators: OperatorCounts[];
}
interface RowsAnswer { from: number; rows: Value[][]; known: number; complete: boolean; columns?: Column[] }

export class Run {
  statement = "";
  query = $state<number | null>(null);
  state = $state<State>("planning");
  fraction = $state<number | null>(null);
  elapsed = $state(0);
  memory = $state(0);
  memoryPeak = $state(0);
  spilled = $state(0);
  columns = $state<Column[] | null>(null);
  known = $state(0);
  complete = $state(false);
  tag = $state("");
  notices = $state<string[]>([]);
  planning = $state<number | null>(null);
  execution = $state<number | null>(null);
  fault = $state.raw<Fault | null>(null);
  plan = $state.raw<Plan | null>(null);
  operators = $state.raw<Map<string, OperatorCounts>>(new Map());
  /** The plan's node that is looked at, in the graph and in the timeline. */
  selected = $state<string | null>(null);
  /** Grows when rows have come. */
  loaded = $state(0);

  private pages = new Map<number, Value[][]>();
  private asked = new Map<number, AbortController>();
  private events: EventSource | null = null;
  private began = performance.now();
  private cancelWanted = false;
  /** Ends the pause between two questions for rows. */
  private wake = () => {};

  constructor(readonly sql: string, readonly parameters: Value[]) {}

  get ended() {
    return ENDED.includes(this.state);
  }

  async begin() {
    try {
      const answer = await call<{ statement: string; query: number; columns: Column[] | null; notices?: string[] }>(
        "POST", "/v1/statements", { sql: this.sql, parameters: this.parameters, connection: CONNECTION });
      this.statement = answer.statement;
      this.query = answer.query;
      this.columns = answer.columns;
      this.notices = answer.notices ?? [];
      if (this.state === "planning") this.state = "running";
    } catch (error) {
      return this.fail(faultOf(error));
    }
    if (this.cancelWanted) void this.cancel();
    this.listen();
    await this.rowsToCome();
  }

  /** Resolves when the statement has ended. */
  async ends(): Promise<void> {
    while (!this.ended) await new Promise((resolve) => setTimeout(resolve, 30));
  }

  private listen() {
    const events = new EventSource(`/v1/statements/${this.statement}/events`);
    this.events = events;
    // A browser tries again by itself while there is hope; a stream that was refused, or that does not come back, is an end.
    let lost = 0;
    events.onopen = () => clearTimeout(lost);
    events.onerror = () => {
      clearTimeout(lost);
      const giveUp = () => !this.ended && this.fail({ code: "08006", message: "The server no longer tells how this statement goes.", hint: "Is quickstep serve still running?" });
      if (events.readyState === EventSource.CLOSED) giveUp();
      else lost = setTimeout(giveUp, LOST_MS) as unknown as number;
    };
    events.addEventListener("plan", (event) => (this.plan = asPlan(JSON.parse(event.data) as { nodes: PlanNode[]; edges: PlanEdge[] })));
    events.addEventListener("progress", (event) => this.progress(JSON.parse(event.data)));
    events.addEventListener("end", (event) => {
      const end = JSON.parse(event.data) as { state: State; tag?: string; error?: Fault; notices?: string[]; milliseconds?: { planning: number; execution: number } };
      events.close();
      this.tag = end.tag ?? "";
      this.planning = end.milliseconds?.planning ?? null;
      this.execution = end.milliseconds?.execution ?? null;
      if (end.notices) this.notices = end.notices;
      if (end.error) this.fault = end.error;
      this.state = end.state;
      this.wake();
    });
  }

  private progress(told: Progress) {
    if (this.ended) return;
    if (!ENDED.includes(told.state)) this.state = told.state;
    this.fraction = told.fraction;
    this.elapsed = told.elapsed_ms;
    this.memory = told.memory_bytes;
    this.memoryPeak = Math.max(this.memoryPeak, told.memory_bytes);
    this.spilled = Math.max(this.spilled, told.spilled_bytes);
    this.operators = new Map(told.operators.map((counts) => [String(counts.id), { ...counts, id: String(counts.id) }]));
  }

  /** Asks how many rows there are until all are known. */
  private async rowsToCome() {
    while (!this.complete && this.state !== "failed" && this.state !== "cancelled") {
      try {
        const first = !this.pages.has(0) || this.pages.get(0)!.length < Math.min(PAGE_ROWS, this.known);
        this.take(await call<RowsAnswer>("GET", `/v1/statements/${this.statement}/rows?from=${first ? 0 : this.known}&count=${first ? PAGE_ROWS : 1}`), first);
      } catch (error) {
        if (!this.ended) this.fail(faultOf(error));
        return;
      }
      if (!this.complete) {
        await new Promise<void>((resolve) => {
          this.wake = resolve;
          setTimeout(resolve, 150);
        });
      }
    }
  }

  private take(answer: RowsAnswer, keep = true) {
    if (answer.columns && !this.columns) this.columns = answer.columns;
    this.known = Math.max(this.known, answer.known);
    this.complete ||= answer.complete;
    if (!keep) return;
    this.pages.delete(answer.from / PAGE_ROWS);
    this.pages.set(answer.from / PAGE_ROWS, answer.rows);
    for (const page of this.pages.keys()) {
      if (this.pages.size <= PAGES_MAX) break;
      if (page !== 0) this.pages.delete(page);
    }
    this.loaded++;
  }

  private fail(fault: Fault) {
    this.fault = fault;
    this.state = fault.code === "57014" ? "cancelled" : "failed";
    this.elapsed = performance.now() - this.began;
    this.events?.close();
  }

  /** A row if it is here. */
  row(at: number): Value[] | undefined {
    return this.pages.get(Math.floor(at / PAGE_ROWS))?.[at % PAGE_ROWS];
  }

  /** Makes rows from `from` up to `to` come, and takes back what was asked for elsewhere. */
  want(from: number, to: number) {
    const first = Math.floor(from / PAGE_ROWS);
    const last = Math.floor(Math.max(from, to - 1) / PAGE_ROWS);
    for (const [page, controller] of this.asked) if (page < first - 1 || page > last + 1) controller.abort();
    for (let page = first; page <= last; page++) {
      const held = this.pages.get(page)?.length ?? 0;
      if (this.asked.has(page) || held >= Math.min(PAGE_ROWS, this.known - page * PAGE_ROWS)) continue;
      void this.fetch(page);
    }
  }

  private async fetch(page: number) {
    const controller = new AbortController();
    this.asked.set(page, controller);
    try {
      this.take(await call<RowsAnswer>("GET", `/v1/statements/${this.statement}/rows?from=${page * PAGE_ROWS}&count=${PAGE_ROWS}`, undefined, controller.signal));
    } catch (error) {
      if (!controller.signal.aborted) this.fault = faultOf(error);
    } finally {
      this.asked.delete(page);
    }
  }

  /** Rows from `from` up to `to`, whatever is here of them and the rest fetched. */
  async rows(from: number, to: number): Promise<Value[][]> {
    const found: Value[][] = [];
    for (let page = Math.floor(from / PAGE_ROWS); page * PAGE_ROWS < to; page++) {
      const held = this.pages.get(page);
      const all = held && held.length >= Math.min(PAGE_ROWS, this.known - page * PAGE_ROWS)
        ? held
        : (await call<RowsAnswer>("GET", `/v1/statements/${this.statement}/rows?from=${page * PAGE_ROWS}&count=${PAGE_ROWS}`)).rows;
      found.push(...all.slice(Math.max(0, from - page * PAGE_ROWS), to - page * PAGE_ROWS));
    }
    return found;
  }

  async cancel() {
    this.cancelWanted = true;
    if (!this.statement || this.ended) return;
    try {
      await call("DELETE", `/v1/statements/${this.statement}`);
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 404)) this.notices = [...this.notices, faultOf(error).message];
    }
  }

  /** Lets the result go: the server holds nothing for this run any more. */
  release() {
    this.events?.close();
    // It may be the last thing that the page does.
    if (this.statement) void fetch(`/v1/statements/${this.statement}`, { method: "DELETE", keepalive: true }).catch(() => undefined);
    this.pages.clear();
  }
}
