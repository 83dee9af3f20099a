// Results as files: the server writes them, the page names them.
import { faultOf, request } from "../lib/api";
import { bytes } from "../lib/format";
import type { Run } from "../lib/run.svelte";

export interface Form { name: string; accept: string; ending: string }
export const FORMS: Form[] = [
  { name: "CSV", accept: "text/csv", ending: "csv" },
  { name: "JSON", accept: "application/json", ending: "json" },
  { name: "JSON, a line a row", accept: "application/x-ndjson", ending: "ndjson" },
  { name: "Arrow", accept: "application/vnd.apache.arrow.stream", ending: "arrows" },
  { name: "Parquet", accept: "application/vnd.apache.parquet", ending: "parquet" },
];

/** Runs the statement again in the form asked for, and hands the file to the browser. It gives what to tell the user. */
export async function download(run: Run, form: Form): Promise<string> {
  if (!/^\s*(select|with|values|from|table|show|describe|summarize|explain)\b/i.test(run.sql)) {
    return "Exports run the statement again: only queries can be exported.";
  }
  try {
    const response = await request("POST", "/v1/query", { sql: run.sql, parameters: run.parameters }, form.accept);
    const blob = await response.blob();
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = `query-${run.query ?? "result"}.${form.ending}`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
    return `${link.download}, ${bytes(blob.size)}`;
  } catch (error) {
    return faultOf(error).message;
  }
}
