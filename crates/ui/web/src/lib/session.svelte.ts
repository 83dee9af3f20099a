// Who is logged in, and how the page looks: light, dark, or as the system says.
export type Theme = "auto" | "light" | "dark";

class Session {
  loginWanted = $state(false);
  user = $state("");
  database = $state("");
  version = $state("");
  theme = $state<Theme>((read("theme") as Theme | null) ?? "auto");
  /** Grows when the theme changes: what draws on a canvas watches it. */
  painted = $state(0);

  setTheme(theme: Theme) {
    this.theme = theme;
    write("theme", theme);
    this.apply();
  }

  apply() {
    if (this.theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = this.theme;
    this.painted++;
  }
}

/** What the browser keeps of the page; a browser that forbids it loses nothing but the memory. */
export function read(key: string): string | null {
  try {
    return localStorage.getItem(`quickstep.${key}`);
  } catch {
    return null;
  }
}
export function write(key: string, value: string) {
  try {
    localStorage.setItem(`quickstep.${key}`, value);
  } catch {
    // Storage is full or forbidden.
  }
}

export const session = new Session();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => session.painted++);
