// A server with the page's HTTP interface and nothing behind it: made-up rows, plans and times. The page is developed and
// tested against it. `node mock.mjs [port]`; with MOCK_LOGIN=1 it asks for a password (ada, secret).
import { createReadStream, existsSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { resultOf } from "./mock/data.mjs";
import { operators, planEvent, timeline } from "./mock/plans.mjs";
import { HISTORY, relations, systemAnswer } from "./mock/system.mjs";

const DIST = fileURLToPath(new URL("../dist", import.meta.url));
const CSP = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";
const TYPES = { ".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml" };
const FUNCTIONS = ["count", "sum", "avg", "min", "max", "date_trunc", "coalesce", "round", "string_agg", "row_number", "substring", "extract"];
const KEYWORDS = ["SELECT", "FROM", "WHERE", "GROUP BY", "ORDER BY", "LIMIT", "JOIN", "LEFT JOIN", "WITH", "HAVING", "UNION ALL", "CREATE TABLE", "INSERT INTO", "EXPLAIN", "PAUSE QUERY"];

/** Statements of a script, by semicolons that stand outside of quotes. */
function split(sql) {
  const found = [];
  const token = /'(?:[^']|'')*'|"[^"]*"|--[^\n]*|\/\*[\s\S]*?\*\/|;/g;
  let from = 0;
  for (const match of sql.matchAll(token)) if (match[0] === ";") { found.push([from, match.index]); from = match.index + 1; }
  found.push([from, sql.length]);
  return found.filter(([a, b]) => sql.slice(a, b).trim()).map(([a, b]) => {
    const lead = sql.slice(a, b).length - sql.slice(a, b).trimStart().length;
    return { from: a + lead, to: b, kind: sql.slice(a + lead, b).split(/\s/)[0].toUpperCase() };
  });
}

/** The first thing in a text that the mock finds fault with. */
function faultOf(sql) {
  const place = (word, message, code, hint) => {
    const offset = sql.indexOf(word);
    const before = sql.slice(0, offset).split("\n");
    return { code, message, detail: null, hint, position: { offset, length: word.length, line: before.length, column: before.at(-1).length + 1 } };
  };
  if (sql.includes("o_ordrekey")) return place("o_ordrekey", 'column "o_ordrekey" does not exist', "42703", 'did you mean "o_orderkey"?');
  if (sql.includes("SELEC ")) return place("SELEC ", "a statement cannot begin with SELEC", "42601", "did you mean SELECT?");
  return null;
}

// Ids go on over servers: they share a history.
let next = 20;

export function start(port = 0, options = {}) {
  let loggedIn = !options.login;
  const statements = new Map(), log = [];
  const background = [
    { query: 21, session: 3, user: "nightly", text: "INSERT INTO daily_revenue SELECT l_shipdate, sum(l_extendedprice) FROM lineitem GROUP BY 1", state: "running", priority: 1, memory_bytes: 932_602_624, began: Date.now() - 41_000, ms: 180_000 },
    { query: 22, session: 4, user: "grace", text: "SELECT p_brand, count(DISTINCT ps_suppkey) FROM partsupp JOIN part ON p_partkey = ps_partkey GROUP BY p_brand", state: "running", priority: 5, memory_bytes: 212_602_624, began: Date.now() - 9_000, ms: 120_000 },
    { query: 23, session: 5, user: "dashboard", text: "SELECT sum(o_totalprice) FROM orders WHERE o_orderdate >= current_date - 30", state: "running", priority: 20, memory_bytes: 18_602_624, began: Date.now() - 2_000, ms: 90_000 },
  ];

  const json = (response, status, body) => { response.writeHead(status, { "content-type": "application/json" }); response.end(JSON.stringify(body)); };
  const fail = (response, error, status = 400) => json(response, status, { error: { detail: null, hint: null, position: null, ...error } });
  const share = (s) => s.state === "cancelled" || s.state === "failed" ? s.stopped : Math.min(1, (Date.now() - s.began) / s.result.ms);
  const stateOf = (s) => s.state ?? (share(s) >= 1 ? "finished" : "running");
  const progress = (s) => {
    const at = share(s);
    return {
      state: stateOf(s), fraction: at, elapsed_ms: Math.min(Date.now() - s.began, s.result.ms), rows: Math.round(s.result.count * at),
      memory_bytes: Math.round(187e6 * Math.sin(Math.PI * Math.min(at, 0.8))), spilled_bytes: s.result.plan === "q64" && at > 0.5 ? Math.round(41e6 * (at - 0.5)) : 0,
      operators: operators(s.result.plan, at, s.result.ms),
    };
  };
  const endOf = (s) => ({ state: stateOf(s), tag: s.result.tag ?? `SELECT ${s.result.count}`, ...(s.error ? { error: s.error } : {}), milliseconds: { planning: 3.4, execution: Math.round(share(s) * s.result.ms * 10) / 10 } });

  function stream(request, response, every, tick) {
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
    const send = (event, data) => response.write(`${event ? `event: ${event}\n` : ""}data: ${JSON.stringify(data)}\n\n`);
    const timer = setInterval(() => { if (tick(send)) { clearInterval(timer); response.end(); } }, every);
    response.on("close", () => clearInterval(timer));
    return send;
  }

  function control(sql) {
    const found = /^(PAUSE|RESUME|CANCEL|ALTER) QUERY (\d+)(?: SET priority = (\d+))?/i.exec(sql.trim());
    if (!found) return null;
    const query = background.find((q) => q.query === Number(found[2]));
    const own = [...statements.values()].find((s) => s.query === Number(found[2]));
    const verb = found[1].toUpperCase();
    if (!query && !own) return { error: { code: "42704", message: `there is no query ${found[2]}` } };
    if (query) {
      if (verb === "PAUSE") query.state = "paused";
      if (verb === "RESUME") query.state = "running";
      if (verb === "CANCEL") background.splice(background.indexOf(query), 1);
      if (verb === "ALTER") query.priority = Number(found[3]);
    } else if (verb === "CANCEL") cancel(own);
    return { columns: [], rows: [], tag: `${verb} QUERY` };
  }
  function cancel(s) {
    if (stateOf(s) !== "running") return;
    s.stopped = share(s);
    s.state = "cancelled";
    s.error = { code: "57014", message: "canceling statement due to user request" };
  }

  const routes = {
    "POST /v1/login": (request, response, body) => {
      if (body.user !== "ada" || body.password !== "secret") return fail(response, { code: "28P01", message: "password authentication failed" }, 401);
      loggedIn = true;
      response.setHeader("set-cookie", "quickstep=x; HttpOnly; SameSite=Strict; Path=/");
      json(response, 200, {});
    },
    "GET /v1/session": (_, response) => json(response, 200, { user: "ada", database: "tpch", version: "0.1.0", read_only: false }),
    "POST /v1/parse": (_, response, { sql }) => {
      const fault = sql.includes("SELEC ") ? faultOf(sql) : null;
      json(response, 200, { statements: split(sql), errors: fault ? [{ message: fault.message, hint: fault.hint, from: fault.position.offset, to: fault.position.offset + fault.position.length }] : [] });
    },
    "POST /v1/complete": (_, response, { sql, at }) => {
      const before = /([\w$]*\.)?([\w$]*)$/.exec(sql.slice(0, at));
      const word = before[2].toLowerCase();
      const candidates = [
        ...relations().flatMap((t) => t.columns.map(([text, detail]) => ({ text, kind: "column", detail: `${detail} · ${t.name}` }))),
        ...relations().map((t) => ({ text: t.name, kind: "table", detail: `${t.columns.length} columns` })),
        ...FUNCTIONS.map((text) => ({ text, kind: "function", detail: "function" })), ...KEYWORDS.map((text) => ({ text, kind: "keyword", detail: "" })),
      ].filter((c) => c.text.toLowerCase().startsWith(word)).slice(0, 60);
      json(response, 200, { from: at - word.length, candidates });
    },
    "POST /v1/query": (request, response, { sql, parameters }) => {
      log.push(sql);
      const fault = faultOf(sql);
      if (fault) return fail(response, fault);
      const answer = control(sql) ?? systemAnswer(sql);
      if (answer?.error) return fail(response, answer.error);
      const milliseconds = { planning: 0.3, execution: 1.2 };
      if (answer) return json(response, 200, { tag: `SELECT ${answer.rows.length}`, ...answer, query: next++, notices: [], milliseconds });
      const result = resultOf(sql, parameters), count = Math.min(result.count, 100_000), accept = request.headers.accept ?? "";
      if (accept.includes("text/csv")) {
        response.writeHead(200, { "content-type": "text/csv" });
        response.write(result.columns.map((c) => c.name).join(",") + "\r\n");
        for (let i = 0; i < count; i++) response.write(result.row(i).map((v) => v ?? "").join(",") + "\r\n");
        return response.end();
      }
      if (/arrow|parquet/.test(accept)) { response.writeHead(200, { "content-type": accept }); return response.end("not really"); }
      json(response, 200, { columns: result.columns, rows: Array.from({ length: Math.min(count, 1000) }, (_, i) => result.row(i)), tag: `SELECT ${count}`, query: next++, notices: [], milliseconds });
    },
    "POST /v1/statements": (_, response, { sql, parameters }) => {
      log.push(sql);
      const system = control(sql) ?? systemAnswer(sql);
      const fault = faultOf(sql) ?? system?.error;
      if (fault) return fail(response, fault);
      const result = system ? { columns: system.columns, count: system.rows.length, row: (i) => system.rows[i], ms: 20, plan: null } : resultOf(sql, parameters);
      const query = ++next + 100, statement = `s${query}`;
      statements.set(statement, { query, sql, result, began: Date.now(), notices: [] });
      HISTORY.push({ ...HISTORY[0], id: query, began: new Date().toISOString(), query: sql, total_ms: result.ms, execution_ms: result.ms - 3, plan: result.plan, rows: result.count });
      json(response, 200, { statement, query, columns: result.plan === "q64" ? null : result.columns });
    },
    "GET /v1/activity": (request, response) => {
      stream(request, response, 250, (send) => {
        const own = [...statements.values()].filter((s) => stateOf(s) === "running").map((s) => ({ query: s.query, session: 1, user: "ada", text: s.sql, state: "running", priority: 1, memory_bytes: progress(s).memory_bytes, began: s.began, ms: s.result.ms }));
        const all = [...background, ...own], busy = all.filter((q) => q.state === "running");
        const sum = busy.reduce((n, q) => n + q.priority, 0) || 1;
        send("", {
          queries: all.map((q) => ({
            ...q, weight: q.priority, cpu_share: q.state === "running" ? Math.max(0, q.priority / sum + 0.02 * Math.sin(Date.now() / 700 + q.query)) : 0,
            elapsed_ms: Date.now() - q.began, progress: Math.min(0.99, (Date.now() - q.began) / q.ms),
          })), workers: 4, memory: { used: all.reduce((n, q) => n + q.memory_bytes, 748e6), limit: 8_589_934_592 },
        });
      });
    },
  };

  const patterns = [
    [/^GET \/v1\/statements\/(\w+)\/rows$/, async (request, response, id, url) => {
      const s = statements.get(id);
      if (!s) return fail(response, { code: "34000", message: `there is no statement ${id}` }, 404);
      const from = Number(url.searchParams.get("from") ?? 0), count = Number(url.searchParams.get("count") ?? 200);
      const known = () => (s.result.plan === "q64" && share(s) < 1 ? 0 : Math.floor(s.result.count * share(s)));
      for (const until = Date.now() + 1000; known() <= from && stateOf(s) === "running" && Date.now() < until;) await new Promise((r) => setTimeout(r, 20));
      const rows = Array.from({ length: Math.max(0, Math.min(count, known() - from)) }, (_, i) => s.result.row(from + i));
      json(response, 200, { from, rows, columns: s.result.columns, known: known(), complete: stateOf(s) !== "running" });
    }],
    [/^GET \/v1\/statements\/(\w+)\/events$/, (request, response, id) => {
      const s = statements.get(id);
      if (!s) return fail(response, { code: "34000", message: `there is no statement ${id}` }, 404);
      const send = stream(request, response, 100, (send) => {
        send("progress", progress(s));
        if (stateOf(s) === "running") return false;
        send("end", endOf(s));
        return true;
      });
      if (s.result.plan) send("plan", planEvent(s.result.plan));
      send("progress", progress(s));
    }],
    [/^DELETE \/v1\/statements\/(\w+)$/, (_, response, id) => { const s = statements.get(id); if (s) cancel(s); json(response, 200, {}); }],
    [/^GET \/v1\/queries\/(\d+)\/timeline$/, (_, response, id) => {
      const s = [...statements.values()].find((s) => s.query === Number(id)), past = HISTORY.find((h) => h.id === Number(id));
      if (background.some((q) => q.query === Number(id))) return json(response, 200, timeline("small", 9000));
      if (!s && !past) return fail(response, { code: "42704", message: `there is no query ${id}` }, 404);
      json(response, 200, s ? timeline(s.result.plan, s.result.ms) : timeline(past.plan, past.total_ms));
    }],
    [/^GET \/v1\/queries\/(\d+)\/plan$/, (_, response, id) => {
      const going = background.find((q) => q.query === Number(id));
      if (going) {
        const at = Math.min(0.999, (Date.now() - going.began) / going.ms);
        return json(response, 200, { query: going.query, sql: going.text, state: going.state, ...planEvent("small"), operators: operators("small", at, going.ms) });
      }
      const past = HISTORY.find((h) => h.id === Number(id));
      if (!past?.plan) return fail(response, { code: "42704", message: `there is no plan of query ${id}` }, 404);
      json(response, 200, { query: past.id, sql: past.query, state: past.state, ...planEvent(past.plan), operators: operators(past.plan, 1, past.total_ms) });
    }],
  ];

  function asset(request, response, path) {
    const file = join(DIST, normalize(path === "/" ? "/index.html" : path));
    if (!file.startsWith(DIST) || !existsSync(file)) { response.writeHead(404); return response.end(); }
    const encoded = (request.headers["accept-encoding"] ?? "").includes("br") && existsSync(`${file}.br`);
    response.writeHead(200, { "content-type": TYPES[extname(file)] ?? "application/octet-stream", "content-security-policy": CSP, ...(encoded ? { "content-encoding": "br" } : {}) });
    createReadStream(encoded ? `${file}.br` : file).pipe(response);
  }

  const server = createServer(async (request, response) => {
    const url = new URL(request.url, "http://localhost");
    let text = "";
    for await (const chunk of request) text += chunk;
    const body = text ? JSON.parse(text) : {}, key = `${request.method} ${url.pathname}`;
    if (!url.pathname.startsWith("/v1/")) return asset(request, response, url.pathname);
    if (!loggedIn && key !== "POST /v1/login") return fail(response, { code: "28000", message: "log in first" }, 401);
    if (routes[key]) return routes[key](request, response, body);
    for (const [pattern, route] of patterns) {
      const found = pattern.exec(key);
      if (found) return route(request, response, found[1], url);
    }
    fail(response, { code: "42601", message: `there is no ${key}` }, 404);
  });
  return new Promise((resolve) => server.listen(port, "127.0.0.1", () => resolve({
    port: server.address().port, log, close: () => { server.closeAllConnections(); server.close(); },
  })));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { port } = await start(Number(process.argv[2] ?? 8081), { login: process.env.MOCK_LOGIN === "1" });
  console.log(`http://127.0.0.1:${port}/`);
}
