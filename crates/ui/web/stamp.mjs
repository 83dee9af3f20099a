// After the build: each file in brotli's and gzip's form, a table of all of them for Rust, and a hash of the sources, by
// which a test sees that dist/ belongs to them.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const here = fileURLToPath(new URL(".", import.meta.url));
const dist = join(here, "../dist");
const TYPES = { ".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml" };

/** Files below a folder, by their paths in order. */
function walk(folder, under = "") {
  return readdirSync(join(folder, under), { withFileTypes: true })
    .flatMap((entry) => (entry.isDirectory() ? walk(folder, `${under}${entry.name}/`) : [`${under}${entry.name}`]))
    .sort();
}

/** FNV-1a of 64 bits over paths and contents: `crates/ui/src/lib.rs` computes the same. */
export function hashOfSources() {
  const files = ["index.html", "package-lock.json", "package.json", "svelte.config.js", "tsconfig.json", "vite.config.ts", ...walk(here, "public/"), ...walk(here, "src/")].sort();
  let [high, low] = [0xcbf29ce4, 0x84222325];
  const eat = (bytes) => {
    for (const byte of bytes) {
      low = (low ^ byte) >>> 0;
      // Times 0x100000001b3, in two halves.
      const product = low * 0x1b3;
      high = (Math.imul(high, 0x1b3) + Math.floor(product / 0x100000000) + (low << 8)) >>> 0;
      low = product >>> 0;
    }
  };
  for (const file of files) {
    eat(Buffer.from(file));
    eat([0]);
    eat(readFileSync(join(here, file)));
    eat([0]);
  }
  return high.toString(16).padStart(8, "0") + low.toString(16).padStart(8, "0");
}

const rows = [];
for (const file of walk(dist).filter((file) => TYPES[extname(file)])) {
  const bytes = readFileSync(join(dist, file));
  const brotli = brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } });
  writeFileSync(join(dist, `${file}.br`), brotli);
  writeFileSync(join(dist, `${file}.gz`), gzipSync(bytes, { level: 9 }));
  const etag = createHash("sha256").update(bytes).digest("hex").slice(0, 16);
  rows.push(`    asset!("/${file}", "${TYPES[extname(file)]}", "${etag}"),`);
}
writeFileSync(join(dist, "assets.in"), `[\n${rows.join("\n")}\n]\n`);
writeFileSync(join(dist, "sources.hash"), `${hashOfSources()}\n`);
