// Where the page is, from the address behind `#`: what can be linked to.
export type Route =
  | { view: "query" }
  | { view: "activity" }
  | { view: "history" }
  | { view: "past"; query: number }
  | { view: "compare"; first: number; second: number }
  | { view: "storage"; table: string };

function parse(hash: string): Route {
  const parts = hash.replace(/^#\/?/, "").split("/").map(decodeURIComponent);
  const numbers = parts.slice(1).map(Number);
  if (parts[0] === "activity") return { view: "activity" };
  if (parts[0] === "history") return { view: "history" };
  if (parts[0] === "query" && Number.isInteger(numbers[0]) && parts[1]) return { view: "past", query: numbers[0] };
  if (parts[0] === "compare" && numbers.length === 2 && numbers.every(Number.isInteger)) return { view: "compare", first: numbers[0], second: numbers[1] };
  if (parts[0] === "storage") return { view: "storage", table: parts[1] ?? "" };
  return { view: "query" };
}

class Router {
  route = $state<Route>(parse(location.hash));
  constructor() {
    addEventListener("hashchange", () => (this.route = parse(location.hash)));
  }
}

export const router = new Router();
export const go = (hash: string) => {
  location.hash = hash;
};
