// Numbers, sizes and times as people read them.

const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
export const count = (value: number | string | null | undefined) => (value == null ? "–" : whole.format(Number(value)));

/** 1,234 or 12.3 k, 4.56 M: at most five characters and a unit. */
export function short(value: number | null | undefined): string {
  if (value == null || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size < 10_000) return whole.format(value);
  for (const [unit, step] of [["k", 1e3], ["M", 1e6], ["G", 1e9], ["T", 1e12]] as const) {
    if (size < step * 999.5) return `${(value / step).toPrecision(3)} ${unit}`;
  }
  return value.toExponential(1);
}

export function bytes(value: number | string | null | undefined): string {
  if (value == null) return "–";
  const size = Number(value);
  for (const [unit, step] of [["B", 1], ["KiB", 1024], ["MiB", 1024 ** 2], ["GiB", 1024 ** 3]] as const) {
    if (size < step * 1000) return `${unit === "B" ? size : (size / step).toPrecision(3)} ${unit}`;
  }
  return `${(size / 1024 ** 4).toPrecision(3)} TiB`;
}

export function milliseconds(value: number | null | undefined): string {
  if (value == null) return "–";
  if (value === 0) return "0";
  if (value < 1) return `${(value * 1000).toFixed(0)} µs`;
  if (value < 100) return `${value.toPrecision(3)} ms`;
  if (value < 1000) return `${value.toFixed(0)} ms`;
  if (value < 60_000) return `${(value / 1000).toFixed(2)} s`;
  return `${Math.floor(value / 60_000)} min ${Math.round((value % 60_000) / 1000)} s`;
}

export const percent = (share: number) => `${(share * 100).toFixed(share > 0 && share < 0.095 ? 1 : 0)} %`;

/** How far an estimate was off, as a factor of at least 1. */
export const ratio = (estimated: number, actual: number) => Math.max(estimated, actual, 1) / Math.max(1, Math.min(estimated, actual));

const NUMBERS = /^(TINYINT|SMALLINT|INTEGER|INT|BIGINT|HUGEINT|U\w*INT\w*|DECIMAL|NUMERIC|REAL|FLOAT|DOUBLE)/i;
export const isNumber = (type: string) => NUMBERS.test(type) && !type.endsWith("[]");
export const isTime = (type: string) => /^(DATE|TIMESTAMP)/i.test(type) && !type.endsWith("[]");
