import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vite";

// One folder of files, all of this origin: nothing inlined, since the content security policy lets neither scripts nor
// styles stand in the page.
export default defineConfig({
  plugins: [svelte()],
  base: "/",
  worker: { format: "es" },
  build: { outDir: "../dist", emptyOutDir: true, assetsInlineLimit: 0, target: ["chrome123", "firefox121", "safari17.5"], modulePreload: { polyfill: false }, reportCompressedSize: false },
  server: { proxy: { "/v1": "http://127.0.0.1:8081" } },
});
