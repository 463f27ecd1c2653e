/** Vite's settings: `console/build.ts` builds with them, and `npm run console` serves the sources beside a service that runs. */

import { fileURLToPath } from "node:url";
import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

/** The service that the development server passes requests to. */
const SERVICE = "http://127.0.0.1:8080";
/** Paths of the service that are no pages of the console. */
const SERVED = ["/v1", "/session", "/openapi.json", "/health", "/docs", "/assets", "/llms", "/sdk.tgz"];

/** The script sets the theme that the reader chose: a page that is shown before would flash. */
const blockRendering: Plugin = {
  name: "block-rendering",
  transformIndexHtml: {
    order: "post",
    handler: (page) => page.replaceAll('<script type="module"', '<script type="module" blocking="render"'),
  },
};

export default defineConfig({
  root: fileURLToPath(new URL(".", import.meta.url)),
  plugins: [react(), tailwindcss(), blockRendering],
  build: {
    outDir: fileURLToPath(new URL("../dist/console", import.meta.url)),
    emptyOutDir: true,
    target: "es2022",
    // The content security policy allows no inline script or style, and a file of its own is cached for ever.
    assetsInlineLimit: 0,
    // The test of the budget reads which files a screen loads.
    manifest: true,
    // `npm run pack` and `npm run dist` put the licenses into the file of all licenses.
    license: { fileName: ".vite/license.json" },
    reportCompressedSize: false,
    // The console, and the shell of the documentation: the service puts its pages into that.
    rolldownOptions: {
      input: [
        fileURLToPath(new URL("index.html", import.meta.url)),
        fileURLToPath(new URL("docs.html", import.meta.url)),
      ],
    },
  },
  server: {
    proxy: Object.fromEntries(
      SERVED.map((path) => [path, { target: SERVICE, changeOrigin: true, headers: { Origin: SERVICE } }]),
    ),
  },
});
