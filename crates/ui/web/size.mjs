// Prints what the page weighs in brotli's form: what is loaded before the first paint, and each part that comes later.
// It fails when the first paint is over its budget.
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const BUDGET = 350 * 1024;
const dist = fileURLToPath(new URL("../dist", import.meta.url));
const html = readFileSync(join(dist, "index.html"), "utf8");
const size = (file) => statSync(join(dist, `${file}.br`)).size;
const named = [...html.matchAll(/(?:src|href)="\/([^"]+)"/g)].map(([, file]) => file);
const first = new Set(["index.html", ...named]);
// What the entry imports at once is loaded with it.
for (const file of first) {
  if (!file.endsWith(".js")) continue;
  for (const [, other] of readFileSync(join(dist, file), "utf8").matchAll(/(?:from|import)\s?"\.\/([^"]+\.js)"/g)) first.add(`assets/${other}`);
}
const later = readdirSync(join(dist, "assets")).filter((file) => /\.(js|css)$/.test(file)).map((file) => `assets/${file}`).filter((file) => !first.has(file));
const sum = (files) => [...files].reduce((total, file) => total + size(file), 0);
for (const file of first) console.log(`${String(size(file)).padStart(8)}  ${file}`);
console.log(`${String(sum(first)).padStart(8)}  before the first paint, of ${BUDGET}`);
for (const file of later) console.log(`${String(size(file)).padStart(8)}  ${file}`);
console.log(`${String(sum(later)).padStart(8)}  later`);
process.exit(sum(first) <= BUDGET ? 0 : 1);
