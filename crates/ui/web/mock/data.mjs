// Rows of TPC-H's lineitem and of a few answers, computed from the row's number: ten million of them need no memory.

const mix = (n, salt) => {
  let x = (n ^ (salt * 0x9e3779b1)) >>> 0;
  x = Math.imul(x ^ (x >>> 16), 0x85ebca6b) >>> 0;
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35) >>> 0;
  return (x ^ (x >>> 16)) >>> 0;
};
const pick = (list, n, salt) => list[mix(n, salt) % list.length];
const day = (from, n) => new Date(Date.UTC(1992, 0, 1) + (from + n) * 86_400_000).toISOString().slice(0, 10);
const money = (cents) => (cents / 100).toFixed(2);
const WORDS = "carefully final deposits detect slyly among the furiously express accounts pending requests sleep blithely regular ideas".split(" ");

const LINEITEM = [
  ["l_orderkey", "BIGINT", (i) => Math.floor(i / 4) * 4 + 1],
  ["l_partkey", "BIGINT", (i) => (mix(i, 1) % 200_000) + 1],
  ["l_suppkey", "BIGINT", (i) => (mix(i, 2) % 10_000) + 1],
  ["l_linenumber", "INTEGER", (i) => (i % 4) + 1],
  ["l_quantity", "DECIMAL(15,2)", (i) => money(((mix(i, 3) % 50) + 1) * 100)],
  ["l_extendedprice", "DECIMAL(15,2)", (i) => money(90_000 + (mix(i, 4) % 10_000_000))],
  ["l_discount", "DECIMAL(15,2)", (i) => money(mix(i, 5) % 11)],
  ["l_tax", "DECIMAL(15,2)", (i) => money(mix(i, 6) % 9)],
  ["l_returnflag", "TEXT", (i) => pick(["A", "N", "R"], i, 7)],
  ["l_linestatus", "TEXT", (i) => pick(["O", "F"], i, 8)],
  ["l_shipdate", "DATE", (i) => day(mix(i, 9) % 2500, 1)],
  ["l_commitdate", "DATE", (i) => day(mix(i, 9) % 2500, 20)],
  ["l_receiptdate", "DATE", (i) => (mix(i, 10) % 11 ? day(mix(i, 9) % 2500, 9) : null)],
  ["l_shipinstruct", "TEXT", (i) => pick(["DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN"], i, 11)],
  ["l_shipmode", "TEXT", (i) => pick(["REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"], i, 12)],
  ["l_comment", "TEXT", (i) => Array.from({ length: 3 + (mix(i, 13) % 5) }, (_, k) => pick(WORDS, i * 7 + k, 14)).join(" ")],
];

const table = (columns, list) => ({ columns: columns.map(([name, type]) => ({ name, type })), count: list.length, row: (i) => list[i] });

const PRIORITIES = table([["o_orderpriority", "TEXT"], ["orders", "BIGINT"], ["revenue", "DECIMAL(38,2)"]], [
  ["1-URGENT", 300343, "45363279186.32"], ["2-HIGH", 300091, "45331873125.93"], ["3-MEDIUM", 298723, "45111843026.99"],
  ["4-NOT SPECIFIED", 300254, "45362139124.02"], ["5-LOW", 300589, "45410238112.87"], [null, 12, null],
]);

const MONTHS = table([["month", "DATE"], ["revenue", "DOUBLE"], ["orders", "BIGINT"]], Array.from({ length: 80 }, (_, i) => [
  `${1992 + Math.floor(i / 12)}-${String((i % 12) + 1).padStart(2, "0")}-01`,
  Math.round(2.1e8 + 3.1e7 * Math.sin(i / 3) + (mix(i, 21) % 3e7) + i * 9e5), 17_000 + (mix(i, 22) % 3000),
]));

const PRICES = table([["p_retailprice", "DECIMAL(15,2)"], ["p_size", "INTEGER"], ["p_brand", "TEXT"]], Array.from({ length: 900 }, (_, i) => [
  money(90_000 + (mix(i, 31) % 110_000)), (mix(i, 32) % 50) + 1, `Brand#${(mix(i, 33) % 5) + 1}${(mix(i, 34) % 5) + 1}`,
]));

const CROSS_SALES = table([["product_name", "TEXT"], ["store_name", "TEXT"], ["syear", "INTEGER"], ["cnt", "BIGINT"], ["s1", "DECIMAL(38,2)"], ["s2", "DECIMAL(38,2)"]],
  Array.from({ length: 42 }, (_, i) => [`${pick(["ought", "able", "pri", "ese", "anti"], i, 41)}n st${i}`, pick(["ese", "ation", "bar"], i, 42), 1999, 1 + (i % 3), money(mix(i, 43) % 9e5), money(mix(i, 44) % 9e5)]));

/** The result that the mock gives for a statement; `plan` names the plan and `ms` says how long it pretends to take. */
export function resultOf(sql, parameters) {
  const text = sql.toLowerCase();
  if (/\$1/.test(text)) {
    const columns = (parameters ?? []).map((value, i) => ({ name: `p${i + 1}`, type: typeof value === "number" ? "DOUBLE" : typeof value === "boolean" ? "BOOLEAN" : "TEXT" }));
    return { columns, count: 1, row: () => parameters, ms: 40, plan: "small" };
  }
  if (/store_sales|cross_sales/.test(text)) return { ...CROSS_SALES, ms: 6000, plan: "q64" };
  if (/date_trunc/.test(text)) return { ...MONTHS, ms: 300, plan: "small" };
  if (/o_orderpriority/.test(text)) return { ...PRIORITIES, ms: 300, plan: "small" };
  if (/from part\b/.test(text)) return { ...PRICES, ms: 200, plan: "small" };
  if (/from lineitem/.test(text)) {
    const limit = /limit (\d+)/.exec(text);
    return {
      columns: LINEITEM.map(([name, type]) => ({ name, type })), count: limit ? Number(limit[1]) : 10_000_000,
      row: (i) => LINEITEM.map(([, , value]) => value(i)), ms: /slow/.test(text) ? 20_000 : 700, plan: "small",
    };
  }
  if (!/^\s*(select|with|values|from|call|table)/.test(text)) return { columns: [], count: 0, row: () => [], ms: 20, plan: null, tag: text.trim().split(/\s+/).slice(0, 2).join(" ").toUpperCase() };
  return { columns: [{ name: "?column?", type: "INTEGER" }], count: 1, row: () => [1], ms: 30, plan: "small" };
}
