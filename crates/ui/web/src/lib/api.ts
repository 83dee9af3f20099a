// Calls of the server. Every one goes to this origin, with the session's cookie; an answer of 401 opens the login form.
import { session } from "./session.svelte";

/** A value of a row as JSON has it: wide integers and decimals come as texts. */
export type Value = string | number | boolean | null | Value[] | { [key: string]: Value };
export interface Column { name: string; type: string }
export interface Position { offset: number; length: number; line: number; column: number }
export interface Fault { code: string; message: string; detail?: string | null; hint?: string | null; position?: Position | null }
export interface Answer {
  columns: Column[];
  rows: Value[][];
  tag: string;
  query?: number;
  notices?: string[];
  milliseconds?: { planning: number; execution: number };
}
export interface PlanNode { id: string; label: string; detail: string; estimated_rows: number | null; pipeline?: number | null }
export interface PlanEdge { from: string; to: string; kind: "stream" | "blocks" | "build" }
export interface Plan { nodes: PlanNode[]; edges: PlanEdge[] }
export interface OperatorCounts {
  id: string;
  work_orders: { done: number; running: number; known: number };
  rows: number;
  busy_ms: number;
  dropped: { filter: string; rows: number }[];
}
export interface WorkOrder { worker: number; operator: string; begin_us: number; end_us: number; rows: number }

/** An error of the server: what `fault` says has a SQLSTATE, and a place if it has one in the text. */
export class ApiError extends Error {
  constructor(readonly fault: Fault, readonly status: number) {
    super(fault.message);
  }
}

export async function request(method: string, path: string, body?: unknown, accept = "application/json", signal?: AbortSignal): Promise<Response> {
  const headers: Record<string, string> = { accept };
  if (body !== undefined) headers["content-type"] = "application/json";
  let response: Response;
  try {
    response = await fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body), signal, credentials: "same-origin" });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError({ code: "08006", message: "The server does not answer.", hint: "Is quickstep serve still running?" }, 0);
  }
  if (response.ok) return response;
  if (response.status === 401 && path !== "/v1/login") session.loginWanted = true;
  const text = await response.text();
  let fault: Fault = { code: "XX000", message: text || `The server answered ${response.status}.` };
  try {
    fault = JSON.parse(text).error ?? fault;
  } catch {
    // What is not JSON comes from something between us and the server, and is shown as it is.
  }
  throw new ApiError(fault, response.status);
}

export async function call<T>(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  return (await request(method, path, body, "application/json", signal)).json();
}

/** Runs SQL and gives all of its rows: for what panels ask of system functions. */
export const query = (sql: string, parameters: Value[] = []): Promise<Answer> => call("POST", "/v1/query", { sql, parameters });

/** The same, a row as an object with its columns' names. Numbers that came as texts stay texts. */
export async function objects<T>(sql: string): Promise<T[]> {
  const { columns, rows } = await query(sql);
  return rows.map((row) => Object.fromEntries(columns.map((column, at) => [column.name, row[at]])) as T);
}

/** The message of whatever was thrown. */
export const faultOf = (error: unknown): Fault =>
  error instanceof ApiError ? error.fault : { code: "XX000", message: error instanceof Error ? error.message : String(error) };

/** Ids of nodes are numbers or texts on the wire, texts here. */
export const asPlan = (plan: { nodes: PlanNode[]; edges: PlanEdge[] }): Plan => ({
  nodes: plan.nodes.map((node) => ({ ...node, id: String(node.id) })),
  edges: plan.edges.map((edge) => ({ ...edge, from: String(edge.from), to: String(edge.to) })),
});
