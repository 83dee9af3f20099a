// A browser, a page and the mock for a test. Every page is watched: no request goes elsewhere, nothing breaks the policy,
// nothing is thrown.
import assert from "node:assert/strict";
import { existsSync, mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { start } from "../mock.mjs";

export const IMAGES = fileURLToPath(new URL("../../../../docs/images/", import.meta.url));
const BROWSERS = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].filter(Boolean);
export const executablePath = BROWSERS.find((path) => existsSync(path));

let browser;
export async function open(t, { hash = "", dark = false, login = false, size = { width: 1360, height: 860 }, permissions = [] } = {}) {
  browser ??= await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  const server = await start(0, { login });
  const context = await browser.newContext({ viewport: size, colorScheme: dark ? "dark" : "light", permissions });
  const page = await context.newPage();
  const origin = `http://127.0.0.1:${server.port}`;
  const faults = [];
  page.on("pageerror", (error) => faults.push(`thrown: ${error.message}`));
  page.on("request", (request) => {
    if (!request.url().startsWith(origin) && !/^(blob|data):/.test(request.url())) faults.push(`foreign request: ${request.url()}`);
  });
  await page.exposeFunction("policyBroken", (told) => faults.push(`policy broken: ${told}`));
  await page.addInitScript(() => addEventListener("securitypolicyviolation", (event) => {
    // A text that replaces a selection of styled words makes Chromium itself try a style, which the editor would drop anyway.
    if (event.effectiveDirective === "style-src-attr" && event.target instanceof Element && event.target.shadowRoot) return;
    globalThis.policyBroken(`${event.effectiveDirective} ${event.blockedURI}`);
  }, true));
  t.after(async () => {
    await context.close();
    server.close();
    assert.deepEqual(faults, []);
  });
  await page.goto(`${origin}/${hash}`);
  return { page, server, origin, faults };
}
export const closeBrowser = () => browser?.close();

/** Puts a text in the place of what the editor has. */
export async function write(page, text) {
  await page.locator(".cm-content").click();
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText(text);
  await page.keyboard.press("Control+Home");
}
export async function run(page, text, all = false) {
  await write(page, text);
  await page.keyboard.press(all ? "Control+Shift+Enter" : "Control+Enter");
}
/** Waits until the last run has finished and all of its rows are known. */
export async function finished(page) {
  await page.locator(".status .badge.finished").waitFor({ timeout: 15_000 });
  await page.locator(".status .told").filter({ hasNotText: "so far" }).waitFor();
}

/** A picture for the book; tests make it so that it shows what is there. */
export async function picture(page, name) {
  if (process.env.PICTURES !== "1") return;
  mkdirSync(IMAGES, { recursive: true });
  await page.screenshot({ path: `${IMAGES}${name}.png`, caret: "initial" });
}
