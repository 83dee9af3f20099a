// Two plans side by side: operators of the same title are put beside each other, in the order of both.

export interface Named { operator: string; title: string }
export interface Pair<T> { first: T | null; second: T | null }

/** What a title is about: its estimates, filters' numbers and remarks left out. */
const subject = (one: Named) => one.title.replace(/,? ?(unique build|fills filter \d+|where .*)/g, "").replace(/filter \d+/g, "filter");

/** The longest common sequence of both lists; what only one has stands where it is there. */
export function align<T extends Named>(first: T[], second: T[]): Pair<T>[] {
  const [a, b] = [first.map(subject), second.map(subject)];
  const longest = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--) longest[i][j] = a[i] === b[j] ? longest[i + 1][j + 1] + 1 : Math.max(longest[i + 1][j], longest[i][j + 1]);
  const pairs: Pair<T>[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) pairs.push({ first: first[i++], second: second[j++] });
    else if (j >= b.length || (i < a.length && longest[i + 1][j] >= longest[i][j + 1])) pairs.push({ first: first[i++], second: null });
    else pairs.push({ first: null, second: second[j++] });
  }
  return pairs;
}
