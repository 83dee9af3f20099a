// Which chart suits a result, and the numbers on its axes.
import type { Column, Value } from "../lib/api";
import { isNumber, isTime } from "../lib/format";

export type Kind = "bar" | "line" | "scatter";
export interface Choice { kind: Kind; x: number; y: number[] }

/** Bars over texts, lines over times, points over numbers; the first columns that fit. */
export function choose(columns: Column[]): Choice | null {
  const numbers = columns.map((_, at) => at).filter((at) => isNumber(columns[at].type));
  const time = columns.findIndex((column) => isTime(column.type));
  const text = columns.findIndex((column) => !isNumber(column.type) && !isTime(column.type));
  const y = numbers.filter((at) => at !== time);
  if (!y.length) return null;
  if (time >= 0) return { kind: "line", x: time, y: y.slice(0, 1) };
  if (text >= 0) return { kind: "bar", x: text, y: y.slice(0, 1) };
  return y.length > 1 ? { kind: "scatter", x: y[0], y: [y[1]] } : { kind: "line", x: -1, y };
}

/** Round steps from `low` to `high`, about `wanted` of them. */
export function ticks(low: number, high: number, wanted: number): number[] {
  if (!(high > low)) return [low];
  const rough = (high - low) / Math.max(1, wanted);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((one) => one >= rough) ?? rough;
  const found: number[] = [];
  for (let at = Math.ceil(low / step) * step; at <= high + step * 1e-9; at += step) found.push(Math.abs(at) < step * 1e-9 ? 0 : at);
  return found;
}

/** A value as a number on an axis: milliseconds of a time, NaN of what is none. */
export function onAxis(value: Value, time: boolean): number {
  if (value === null || typeof value === "object" || value === "") return NaN;
  return time ? Date.parse(String(value).replace(" ", "T").replace(/(:[\d.]+[+-]\d\d)$/, "$1:00")) : Number(value);
}
