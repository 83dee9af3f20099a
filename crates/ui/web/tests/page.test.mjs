// The page in a headless Chromium, against the mock. PICTURES=1 writes docs/images anew.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, test } from "node:test";
import { closeBrowser, executablePath, finished, open, picture, run, write } from "./browser.mjs";

const options = { skip: executablePath ? false : "no Chromium here: apt-get install chromium", timeout: 60_000 };
const Q64 = "-- TPC-DS, query 64\nWITH cs_ui AS (\n  SELECT cs_item_sk, sum(cs_ext_list_price) AS sale\n  FROM catalog_sales JOIN catalog_returns ON cs_item_sk = cr_item_sk\n  GROUP BY cs_item_sk\n)\nSELECT * FROM cross_sales;\n";
after(closeBrowser);

test("a query runs at the cursor and shows rows, types and NULLs", options, async (t) => {
  const { page } = await open(t);
  const paint = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime);
  t.diagnostic(`first paint after ${paint?.toFixed(0)} ms`);
  await run(page, "SELECT o_orderpriority, count(*) AS orders FROM orders GROUP BY 1;\n\nSELECT * FROM lineitem;\n");
  await finished(page);
  const grid = page.getByRole("grid");
  assert.equal(await grid.getAttribute("aria-rowcount"), "7");
  assert.match(await grid.innerText(), /o_orderpriority\s+text\s+orders\s+bigint/);
  assert.match(await page.locator("#cell-0-0").innerText(), /1-URGENT/);
  assert.equal(await page.locator("#cell-5-0").innerText(), "NULL");
  assert.ok(await page.locator("#cell-5-0").evaluate((cell) => cell.classList.contains("null")));
});

test("all statements run in order, and each result can be seen", options, async (t) => {
  const { page } = await open(t);
  await run(page, "SELECT * FROM part;\nSELECT month, revenue FROM (SELECT date_trunc('month', o_orderdate)) x;\nCREATE TABLE t (a INTEGER);", true);
  await page.getByRole("group", { name: "Statements of this run" }).getByRole("button").nth(2).waitFor();
  await page.getByText("This statement gives no rows.").waitFor();
  await page.getByRole("group", { name: "Statements of this run" }).getByRole("button").nth(0).click();
  assert.equal(await page.getByRole("grid").getAttribute("aria-rowcount"), "901");
});

test("a selection alone runs", options, async (t) => {
  const { page, server } = await open(t);
  await write(page, "SELECT 1;\nSELECT 2;");
  await page.keyboard.press("Shift+End");
  await page.keyboard.press("Control+Enter");
  await finished(page);
  assert.ok(server.log.includes("SELECT 1") && !server.log.includes("SELECT 2"));
});

test("ten million rows are scrolled, by wheel, bar and keys", options, async (t) => {
  const { page } = await open(t);
  await run(page, "SELECT * FROM lineitem");
  await finished(page);
  const grid = page.getByRole("grid");
  assert.equal(await grid.getAttribute("aria-rowcount"), "10000001");
  await grid.focus();
  await page.keyboard.press("Control+End");
  await page.locator("#cell-9999999-15").filter({ hasNotText: "…" }).waitFor();
  await page.keyboard.press("Control+Home");
  await page.locator("#cell-0-0").filter({ hasNotText: "…" }).waitFor();
  // The bar: the middle of it is the middle of the rows.
  await grid.evaluate((box) => (box.scrollTop = (box.scrollHeight - box.clientHeight) / 2));
  await page.waitForFunction(() => [...document.querySelectorAll('[role="rowheader"]')].some((cell) => Math.abs(Number(cell.textContent) - 5e6) < 50));
  // The wheel goes row by row there, too.
  const first = () => grid.evaluate(() => Math.min(...[...document.querySelectorAll('[role="rowheader"]')].map((cell) => Number(cell.textContent))));
  const before = await first();
  await page.mouse.move(700, 650);
  await page.mouse.wheel(0, 260);
  await page.waitForFunction((from) => Math.min(...[...document.querySelectorAll('[role="rowheader"]')].map((cell) => Number(cell.textContent))) > from, before);
  assert.ok((await first()) - before <= 12);
  // Frames while it is dragged from end to end.
  const slow = await grid.evaluate(async (box) => {
    const times = [];
    let last = performance.now();
    for (let at = 0; at < 90; at++) {
      box.scrollTop = ((box.scrollHeight - box.clientHeight) * at) / 90;
      await new Promise(requestAnimationFrame);
      times.push(performance.now() - last);
      last = performance.now();
    }
    return times.sort((a, b) => a - b)[Math.floor(times.length / 2)];
  });
  t.diagnostic(`median frame ${slow.toFixed(1)} ms`);
  assert.ok(slow < 34, `median frame took ${slow} ms`);
});

test("cells are copied", options, async (t) => {
  const { page } = await open(t, { permissions: ["clipboard-read", "clipboard-write"] });
  await run(page, "SELECT o_orderpriority, count(*) AS orders FROM orders GROUP BY 1");
  await finished(page);
  await page.locator("#cell-0-0").click();
  await page.keyboard.press("Shift+ArrowDown");
  await page.keyboard.press("Shift+ArrowRight");
  await page.keyboard.press("Control+c");
  await page.getByText("Copied 2 rows").waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), "o_orderpriority\torders\n1-URGENT\t300343\n2-HIGH\t300091");
});

test("a result is exported as a file", options, async (t) => {
  const { page } = await open(t);
  await run(page, "SELECT o_orderpriority, count(*) AS orders FROM orders GROUP BY 1");
  await finished(page);
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByLabel("Export").selectOption("CSV")]);
  assert.match(download.suggestedFilename(), /^query-\d+\.csv$/);
  assert.match(readFileSync(await download.path(), "utf8"), /^o_orderpriority,orders,revenue\r\n1-URGENT/);
});

test("an error is marked where it stands, with its hint", options, async (t) => {
  const { page } = await open(t);
  await run(page, "SELECT 1;\n\nSELECT o_ordrekey\nFROM orders;");
  await finished(page);
  await write(page, "SELECT 1;\n\nSELECT o_ordrekey\nFROM orders;");
  await page.keyboard.press("Control+Shift+Enter");
  await page.getByRole("alert").filter({ hasText: "42703" }).waitFor();
  assert.match(await page.getByRole("alert").innerText(), /did you mean "o_orderkey"\?/);
  assert.equal(await page.locator(".cm-lintRange-error").innerText(), "o_ordrekey");
  await page.locator(".cm-lintRange-error").hover();
  await page.locator(".cm-tooltip .cm-hint").waitFor();
  await picture(page, "page-error");
  await page.getByRole("button", { name: "Go to line 3" }).click();
});

test("syntax is looked at while it is written, and names are completed", options, async (t) => {
  const { page } = await open(t);
  await write(page, "SELEC 1;\nSELECT 2;");
  await page.locator(".cm-lintRange-error").filter({ hasText: "SELEC" }).waitFor();
  await write(page, "");
  await page.keyboard.type("SELECT l_ship");
  const list = page.locator(".cm-tooltip-autocomplete");
  await list.filter({ hasText: "l_shipdate" }).waitFor();
  await picture(page, "page-completion");
  await page.waitForTimeout(200);
  await page.keyboard.press("Enter");
  assert.match(await page.locator(".cm-content").innerText(), /SELECT l_ship\w+/);
});

test("parameters have fields, and their values are sent", options, async (t) => {
  const { page, server } = await open(t);
  await write(page, "SELECT $1, :country, 'no :field', a::text;");
  const fields = page.getByRole("group", { name: "Parameters" });
  await fields.getByLabel("$1", { exact: true }).fill("42");
  await fields.getByLabel(":country", { exact: true }).fill("DE");
  await page.locator(".cm-content").click();
  await page.keyboard.press("Control+Enter");
  await finished(page);
  assert.equal(server.log.at(-1), "SELECT $1, $2, 'no :field', a::text");
  assert.equal(await page.locator("#cell-0-0").innerText(), "42");
  assert.equal(await page.locator("#cell-0-1").innerText(), "DE");
});

test("Escape cancels what runs", options, async (t) => {
  const { page } = await open(t);
  await run(page, Q64);
  await page.locator(".status .badge.running").waitFor();
  await page.waitForTimeout(400);
  await page.keyboard.press("Escape");
  await page.locator(".status .badge.cancelled").waitFor({ timeout: 2000 });
  assert.match(await page.getByRole("alert").innerText(), /Cancelled/);
});

test("a server that goes away ends what runs, with a remedy", options, async (t) => {
  const { page, server } = await open(t);
  await run(page, Q64);
  await page.locator(".status .badge.running").waitFor();
  server.close();
  await page.getByRole("alert").filter({ hasText: "Is quickstep serve still running?" }).waitFor({ timeout: 20_000 });
});

test("the plan of 85 operators fills up while it runs", options, async (t) => {
  const { page } = await open(t);
  await run(page, Q64);
  await page.getByRole("tab", { name: "Plan" }).click();
  const graph = page.getByRole("group", { name: "Plan", exact: true });
  await page.waitForFunction(() => document.querySelector('svg[aria-label="Plan"]')?.dataset.nodes === "85");
  const done = async () => Number(await graph.getAttribute("data-done"));
  const first = await done();
  await page.waitForTimeout(1200);
  const client = await page.context().newCDPSession(page);
  await client.send("Performance.enable");
  const busy = async () => (await client.send("Performance.getMetrics")).metrics.find((metric) => metric.name === "TaskDuration").value;
  const busyBefore = await busy();
  const second = await done();
  await page.waitForTimeout(1200);
  const third = await done();
  t.diagnostic(`the page's thread was busy for ${Math.round(((await busy()) - busyBefore) * 1000)} ms of 1,200 while 85 nodes were told ten times a second`);
  assert.ok(first < second && second < third, `${first}, ${second}, ${third} work orders`);
  await picture(page, "page-plan");
  await finished(page);
  await page.waitForFunction(() => { const { done, known } = document.querySelector('svg[aria-label="Plan"]').dataset; return done === known && Number(done) > 500; });
  // Every node stands in the panel, and its letters can be read.
  const { outside, least } = await graph.evaluate((svg) => {
    const bounds = svg.getBoundingClientRect();
    const boxes = [...svg.querySelectorAll(".node .base")].map((node) => node.getBoundingClientRect());
    const letters = [...svg.querySelectorAll(".node text")].map((text) => text.getBoundingClientRect().height);
    return { outside: boxes.filter((b) => b.left < bounds.left || b.right > bounds.right || b.top < bounds.top || b.bottom > bounds.bottom).length, least: Math.min(...letters) };
  });
  assert.equal(outside, 0);
  assert.ok(least >= 8, `letters are ${least} px high`);
  // The worst estimate is marked; its node tells everything.
  assert.equal(await page.locator(".node.worst").count(), 1);
  await page.getByRole("button", { name: /^worst estimate/ }).click();
  await page.getByRole("complementary", { name: "Node of the plan" }).getByText("Off by").waitFor();
  // Arrows go along edges.
  const chosen = await page.locator(".node.selected").getAttribute("data-id");
  await page.keyboard.press("ArrowUp");
  await page.waitForFunction((id) => document.querySelector(".node.selected")?.dataset.id !== id, chosen);
});

test("timeline and plan lead to each other", options, async (t) => {
  const { page } = await open(t, { hash: "#/query/15" });
  await page.locator('svg[data-orders="535"]').waitFor();
  await page.locator(".order").first().click();
  const id = await page.locator(".node.selected").getAttribute("data-id");
  assert.ok((await page.locator(".order.lit").count()) > 0);
  assert.equal(await page.getByLabel("Operator").inputValue(), id);
  await picture(page, "page-query");
  await page.locator(".node").nth(3).click();
  assert.notEqual(await page.getByLabel("Operator").inputValue(), id);
});

test("shares are seen, priorities moved, queries paused, resumed and cancelled", options, async (t) => {
  const { page, server } = await open(t, { hash: "#/activity" });
  const row = page.getByRole("row").filter({ hasText: "nightly" });
  await row.waitFor();
  if (process.env.PICTURES === "1") await page.waitForTimeout(12_000);
  const slider = page.getByLabel("Priority of query 21");
  await slider.focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  await page.waitForFunction(() => document.querySelector('[aria-label="Priority of query 21"]').getAttribute("aria-valuetext") === "3");
  if (process.env.PICTURES === "1") await page.waitForTimeout(9_000);
  await picture(page, "page-activity");
  await page.getByRole("button", { name: "Pause query 21" }).click();
  await row.getByText("paused").waitFor();
  await row.getByRole("button", { name: "Resume" }).click();
  await row.getByText("running").waitFor();
  await page.getByRole("button", { name: "Cancel query 21" }).click();
  await row.waitFor({ state: "detached" });
  for (const sql of ["ALTER QUERY 21 SET priority = 3", "PAUSE QUERY 21", "RESUME QUERY 21", "CANCEL QUERY 21"]) assert.ok(server.log.includes(sql), sql);
});

test("the plan of somebody else's running query fills up at its address", options, async (t) => {
  const { page } = await open(t, { hash: "#/activity" });
  await page.getByRole("link", { name: "22", exact: true }).click();
  await page.locator(".past .badge.running").waitFor();
  const graph = page.getByRole("group", { name: "Plan", exact: true });
  await page.waitForFunction(() => document.querySelector('svg[aria-label="Plan"]')?.dataset.nodes === "4");
  const before = Number(await graph.getAttribute("data-done"));
  await page.waitForFunction((from) => Number(document.querySelector('svg[aria-label="Plan"]').dataset.done) > from, before);
  assert.match(await page.locator("pre").first().innerText(), /p_brand/);
});

test("two runs are compared operator by operator", options, async (t) => {
  const { page } = await open(t, { hash: "#/history" });
  await page.getByLabel("Compare query 11", { exact: true }).check();
  await page.getByLabel("Compare query 13", { exact: true }).check();
  await page.getByRole("button", { name: "Compare 11 and 13" }).click();
  await page.getByText("query 13 was 2.4x slower").waitFor();
  assert.equal(new URL(page.url()).hash, "#/compare/11/13");
  assert.equal(await page.getByRole("region", { name: "Operators" }).locator("tbody tr").count(), 4);
  await picture(page, "page-compare");
});

test("tables show their columns' bytes, and the advisor its evidence", options, async (t) => {
  const { page } = await open(t, { hash: "#/storage/main.lineitem" });
  await page.getByRole("region", { name: /^lineitem/ }).getByRole("row").filter({ hasText: "l_comment" }).waitFor();
  assert.equal(await page.getByRole("region", { name: /^lineitem/ }).locator("tbody tr").count(), 16);
  await page.getByRole("button", { name: "Ask the advisor" }).click();
  await page.getByText("compressed_column, sort l_shipdate").waitFor();
  await picture(page, "page-storage");
  await page.getByText("compressed_column, sort l_shipdate").scrollIntoViewIfNeeded();
  await page.mouse.move(700, 500);
  await page.mouse.wheel(0, 2000);
  await page.waitForTimeout(200);
  await picture(page, "page-advisor");
  await page.getByRole("button", { name: "Apply…" }).click();
  assert.match(await page.locator(".cm-content").innerText(), /ALTER TABLE lineitem SET \(sort = 'l_shipdate'\);/);
});

test("the schema is searched, opened by keys, and put into the editor", options, async (t) => {
  const { page } = await open(t);
  await page.getByLabel("Search tables and columns").fill("l_shipd");
  await page.getByRole("treeitem", { name: /l_shipdate/ }).waitFor();
  await page.getByLabel("Search tables and columns").fill("");
  await page.getByRole("treeitem", { name: /customer/ }).focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowDown");
  await write(page, "");
  await page.getByRole("treeitem", { name: /c_custkey/ }).click();
  assert.equal(await page.locator(".cm-content").innerText(), "c_custkey");
});

test("tabs and their texts outlive the page", options, async (t) => {
  const { page } = await open(t);
  await write(page, "SELECT 'kept'");
  await page.getByRole("button", { name: "New tab" }).click();
  await write(page, "SELECT 'second'");
  await page.reload();
  assert.match(await page.locator(".cm-content").innerText(), /second/);
  await page.getByRole("tab", { name: "Query 1" }).click();
  assert.match(await page.locator(".cm-content").innerText(), /kept/);
});

test("charts are chosen by the columns' types", options, async (t) => {
  const { page } = await open(t);
  for (const [sql, kind] of [["SELECT o_orderpriority, count(*) FROM orders GROUP BY 1", "bar"], ["SELECT date_trunc('month', d) AS month, sum(x) AS revenue FROM o GROUP BY 1", "line"], ["SELECT p_retailprice, p_size FROM part", "bar"]]) {
    await run(page, sql);
    await finished(page);
    await page.getByRole("tab", { name: "Chart" }).click();
    await page.getByRole("img", { name: new RegExp(`^${kind} chart`) }).waitFor();
    await page.locator(kind === "line" ? ".plot path" : ".plot rect").first().waitFor();
    if (kind === "line") {
      assert.equal((await page.locator(".plot path").getAttribute("d")).split("L").length, 80);
      await page.mouse.move(700, 650);
      await picture(page, "page-chart");
    }
  }
});

test("dark follows the system and the switch", options, async (t) => {
  const { page } = await open(t, { dark: true });
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  assert.equal(await ground(), "rgb(20, 23, 28)");
  await run(page, "SELECT * FROM lineitem");
  await finished(page);
  await picture(page, "page-dark");
  await page.getByRole("button", { name: /^Colours/ }).click();
  assert.equal(await ground(), "rgb(255, 255, 255)");
  await page.reload();
  assert.equal(await ground(), "rgb(255, 255, 255)");
});

test("who is not logged in is asked to be", options, async (t) => {
  const { page } = await open(t, { login: true });
  await page.getByLabel("User").fill("ada");
  await page.getByLabel("Password").fill("wrong");
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByText("password authentication failed").waitFor();
  await page.getByLabel("Password").fill("secret");
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByRole("treeitem", { name: /lineitem/ }).waitFor();
});

test("nothing serious for axe, light and dark, in every view", { ...options, timeout: 120_000 }, async (t) => {
  const axe = readFileSync(new URL("../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
  for (const dark of [false, true]) {
    const { page } = await open(t, { dark });
    const look = async (where) => {
      await page.evaluate(axe);
      const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
      const grave = violations.filter((v) => v.impact === "serious" || v.impact === "critical").map((v) => `${where}: ${v.id} ${v.nodes.slice(0, 3).map((n) => `${n.html.slice(0, 140)} ${n.any[0]?.message ?? ""}`).join(" | ")}`);
      assert.deepEqual(grave, []);
    };
    await look("query, empty");
    await run(page, "SELECT * FROM lineitem");
    await finished(page);
    await look("query, rows");
    for (const tab of ["Chart", "Plan", "Timeline"]) {
      await page.getByRole("tab", { name: tab }).click();
      await page.waitForTimeout(500);
      await look(`query, ${tab}`);
    }
    for (const hash of ["#/activity", "#/history", "#/query/15", "#/compare/11/13", "#/storage/main.lineitem"]) {
      await page.goto(`${page.url().split("#")[0]}${hash}`);
      await page.waitForTimeout(900);
      await look(hash);
    }
    await page.keyboard.press("Alt+1");
    await page.getByRole("button", { name: "Keys" }).click();
    await look("keys");
  }
});

test("a query's pictures for the book", { ...options, skip: process.env.PICTURES !== "1" }, async (t) => {
  const { page } = await open(t);
  await run(page, "SELECT * FROM lineitem;\n\nSELECT o_orderpriority, count(*) AS orders, sum(o_totalprice) AS revenue\nFROM orders\nGROUP BY o_orderpriority\nORDER BY 1;\n");
  await finished(page);
  await page.getByRole("treeitem", { name: /orders/ }).focus();
  await page.keyboard.press("ArrowRight");
  await page.locator("#cell-3-5").click();
  await picture(page, "page-rows");
});
