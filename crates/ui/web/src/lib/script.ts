// A script as the page needs to know it before the server answers: where statements begin and end, and which parameters
// they have. Quotes, dollar quotes and comments are skipped; everything else is the server's to judge.

export interface Statement { from: number; to: number }
export interface Parameters { names: string[]; sql: string; moved: { at: number; by: number }[] }

const SKIPPED = /'(?:[^']|'')*(?:'|$)|"(?:[^"]|"")*(?:"|$)|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|\$([A-Za-z_]*)\$[\s\S]*?(?:\$\1\$|$)/y;

/** Calls `seen` for every place of `text` that is neither quoted nor a comment; it gives how many characters it took. */
function walk(text: string, seen: (at: number) => number) {
  for (let at = 0; at < text.length;) {
    SKIPPED.lastIndex = at;
    const skipped = SKIPPED.exec(text);
    if (skipped && skipped[0]) at += skipped[0].length;
    else at += Math.max(1, seen(at));
  }
}

/** Statements of a text, blanks around them and the semicolon behind left out. */
export function statements(text: string): Statement[] {
  const ends: number[] = [];
  walk(text, (at) => {
    if (text[at] === ";") ends.push(at);
    return 1;
  });
  ends.push(text.length);
  const found: Statement[] = [];
  let from = 0;
  for (const to of ends) {
    const part = text.slice(from, to);
    // A part of nothing but comments is no statement.
    let holds = false;
    walk(part, (at) => {
      holds ||= /\S/.test(part[at]);
      return 1;
    });
    holds ||= /['"]/.test(part);
    if (holds) found.push({ from: from + (part.length - part.trimStart().length), to: from + part.trimEnd().length });
    from = to + 1;
  }
  return found;
}

/** The statement at the cursor, or the last one before it. */
export function statementAt(text: string, cursor: number): Statement | null {
  const all = statements(text);
  return all.find((s) => cursor >= s.from && cursor <= s.to + 1) ?? all.findLast((s) => s.to < cursor) ?? all[0] ?? null;
}

/** Names of a statement's parameters in order, and its text with `:name` as `$n`. */
export function parameters(text: string): Parameters {
  const named: string[] = [];
  const numbered = new Set<number>();
  const places: { at: number; length: number; name: string }[] = [];
  let nested = 0;
  walk(text, (at) => {
    const character = text[at];
    if (character === "[" || character === "{") nested++;
    if (character === "]" || character === "}") nested--;
    const rest = text.slice(at, at + 64);
    const dollar = /^\$(\d+)/.exec(rest);
    if (dollar) {
      numbered.add(Number(dollar[1]));
      return dollar[0].length;
    }
    if (rest.startsWith("::")) return 2;
    const colon = nested === 0 && !/[\w"'\])]/.test(text[at - 1] ?? " ") ? /^:([A-Za-z_]\w*)/.exec(rest) : null;
    if (colon) {
      if (!named.includes(colon[1])) named.push(colon[1]);
      places.push({ at, length: colon[0].length, name: colon[1] });
      return colon[0].length;
    }
    return /^\w+/.exec(rest)?.[0].length ?? 1;
  });
  const first = Math.max(0, ...numbered);
  const names = [...Array.from({ length: first }, (_, at) => `$${at + 1}`), ...named];
  let sql = "";
  let from = 0;
  const moved: Parameters["moved"] = [];
  for (const place of places) {
    const written = `$${first + named.indexOf(place.name) + 1}`;
    sql += text.slice(from, place.at) + written;
    from = place.at + place.length;
    moved.push({ at: sql.length, by: place.length - written.length });
  }
  return { names, sql: sql + text.slice(from), moved };
}

/** Where an offset in the sent text stands in the written one. */
export const writtenAt = (moved: Parameters["moved"], offset: number) =>
  moved.reduce((at, step) => (offset >= step.at ? at + step.by : at), offset);

export interface Field { text: string; kind: "auto" | "text" | "null" }

/** The value of an input field: numbers, true and false are what they look like unless the field says text. */
export function valueOf(field: Field): string | number | boolean | null {
  if (field.kind === "null") return null;
  if (field.kind === "text") return field.text;
  if (field.text === "true" || field.text === "false") return field.text === "true";
  if (/^-?\d+(\.\d+)?$/.test(field.text) && Number.isSafeInteger(Math.trunc(Number(field.text))) && field.text.length < 16) return Number(field.text);
  return field.text;
}
