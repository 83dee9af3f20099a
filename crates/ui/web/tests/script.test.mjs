// What the page computes without a browser: statements and parameters of a script, aligned plans, the plan's layout; and,
// with QUICKSTEP=path of the command, that the engine takes every statement that the panels send.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { build } from "vite";

const folder = mkdtempSync(join(tmpdir(), "page-"));
const loaded = async (file) => {
  const { output } = (await build({ configFile: false, logLevel: "error", build: { write: false, minify: false, lib: { entry: new URL(`../src/${file}`, import.meta.url).pathname, formats: ["es"] } } }))[0];
  const path = join(folder, `${file.replaceAll("/", "-")}.mjs`);
  writeFileSync(path, output[0].code);
  return import(path);
};

test("statements end at semicolons that are no part of quotes or comments", async () => {
  const { statementAt, statements } = await loaded("lib/script.ts");
  const text = "SELECT ';' AS \"a;b\"; -- one; two\nSELECT $$;$$;\n/* ; */ SELECT 3";
  assert.deepEqual(statements(text).map(({ from, to }) => text.slice(from, to)), ["SELECT ';' AS \"a;b\"", "-- one; two\nSELECT $$;$$", "/* ; */ SELECT 3"]);
  assert.deepEqual(statements(" ;; -- nothing\n;"), []);
  const two = "SELECT 1;\nSELECT 2;\n\n";
  const at = (cursor) => { const found = statementAt(two, cursor); return found && two.slice(found.from, found.to); };
  assert.deepEqual([at(0), at(9), at(12), at(21)], ["SELECT 1", "SELECT 1", "SELECT 2", "SELECT 2"]);
});

test("parameters are found where they are parameters, and places lead back", async () => {
  const { parameters, valueOf, writtenAt } = await loaded("lib/script.ts");
  const text = "SELECT :a, a::int, ':b', list[1:n], {x: 1}, :c + :a, wrong";
  const { names, sql, moved } = parameters(text);
  assert.deepEqual(names, ["a", "c"]);
  assert.equal(sql, "SELECT $1, a::int, ':b', list[1:n], {x: 1}, $2 + $1, wrong");
  assert.equal(writtenAt(moved, sql.indexOf("wrong")), text.indexOf("wrong"));
  assert.deepEqual(parameters("SELECT $2, :long_name, x").names, ["$1", "$2", "long_name"]);
  const longer = parameters("SELECT :long_name, wrong");
  assert.equal(writtenAt(longer.moved, longer.sql.indexOf("wrong")), "SELECT :long_name, wrong".indexOf("wrong"));
  assert.deepEqual(["42", "-1.5", "true", "007x", "12345678901234567890"].map((one) => valueOf({ text: one, kind: "auto" })), [42, -1.5, true, "007x", "12345678901234567890"]);
  assert.equal(valueOf({ text: "42", kind: "text" }), "42");
  assert.equal(valueOf({ text: "42", kind: "null" }), null);
});

test("plans are aligned by what their operators are about", async () => {
  const { align } = await loaded("lib/align.ts");
  const plan = (...titles) => titles.map((title) => ({ operator: title.split(" ")[0], title }));
  const pairs = align(plan("Sort by a", "HashJoin a = b, fills filter 0", "TableScan t where a in filter 0", "TableScan u"), plan("HashJoin a = b", "TableScan t", "Filter x", "TableScan u"));
  assert.deepEqual(pairs.map(({ first, second }) => [first?.operator ?? null, second?.operator ?? null]), [["Sort", null], ["HashJoin", "HashJoin"], ["TableScan", "TableScan"], [null, "Filter"], ["TableScan", "TableScan"]]);
});

test("85 nodes are placed without one over another, quickly", async (t) => {
  const { lay } = await loaded("plan/layout.worker.ts");
  const plan = JSON.parse(readFileSync(new URL("../mock/q64.json", import.meta.url)));
  const asked = { ticket: 1, nodes: plan.nodes.map((n) => String(n.id)), edges: plan.edges.map((e) => ({ from: String(e.from), to: String(e.to) })), width: 1060, height: 330 };
  const began = performance.now();
  const { nodes, edges, width, height } = lay(asked);
  t.diagnostic(`${(performance.now() - began).toFixed(0)} ms`);
  assert.equal(nodes.length, 85);
  assert.equal(edges.length, 85);
  for (const a of nodes) for (const b of nodes) if (a.id < b.id) assert.ok(Math.abs(a.x - b.x) >= 172 || Math.abs(a.y - b.y) >= 42, `${a.id} over ${b.id}`);
  for (const { x, y } of nodes) assert.ok(x >= 0 && x <= width && y >= 0 && y <= height);
});

test("axes have round steps, and times stand where they are", async () => {
  const { onAxis, ticks } = await loaded("results/chart.ts");
  assert.deepEqual(ticks(0, 10, 5), [0, 2, 4, 6, 8, 10]);
  assert.deepEqual(ticks(-3, 7, 4), [-2.5, 0, 2.5, 5]);
  assert.equal(onAxis("1992-01-02", true), Date.UTC(1992, 0, 2));
  assert.equal(onAxis("1992-01-02 03:04:05.5+02", true), Date.UTC(1992, 0, 2, 1, 4, 5, 500));
  assert.equal(onAxis("123456789012345678901.5", false), 123456789012345680000);
  assert.ok(Number.isNaN(onAxis(null, false)));
});

test("numbers are short and sizes have units", async () => {
  const { bytes, milliseconds, ratio, short } = await loaded("lib/format.ts");
  assert.deepEqual([0, 9999, 12_345, 1e6, 5_089_975, 2.5e9].map(short), ["0", "9,999", "12.3 k", "1.00 M", "5.09 M", "2.50 G"]);
  assert.deepEqual([0, 999, 1024, 5e9].map(bytes), ["0 B", "999 B", "1.00 KiB", "4.66 GiB"]);
  assert.deepEqual([0, 0.05, 12.34, 1500, 61_000].map(milliseconds), ["0", "50 µs", "12.3 ms", "1.50 s", "1 min 1 s"]);
  assert.equal(ratio(10, 0), 10);
});

test("the engine takes what the panels send", { skip: process.env.QUICKSTEP ? false : "QUICKSTEP names no command" }, async () => {
  const sql = await loaded("lib/sql.ts");
  const texts = Object.values(sql).filter((one) => typeof one === "string");
  texts.push(sql.historyOf(1), sql.planOf(1), sql.ordersOf(1), sql.compare(0, 0));
  const ran = spawnSync(process.env.QUICKSTEP, ["-c", "CREATE TABLE t AS SELECT i AS a FROM range(1000) AS r(i)", "-c", "SELECT count(*) FROM t WHERE a = 7", ...texts.flatMap((text) => ["-c", text])], { encoding: "utf8", timeout: 120_000 });
  assert.equal(ran.stderr.match(/ERROR[^\n]*/g), null, ran.stderr);
  const control = spawnSync(process.env.QUICKSTEP, [sql.pause(1_000_000), sql.resume(1_000_000), sql.cancel(1_000_000), sql.priority(1_000_000, 5)].flatMap((text) => ["-c", text]), { encoding: "utf8" });
  assert.doesNotMatch(control.stderr, /42601/, "control statements are no syntax errors");
});
