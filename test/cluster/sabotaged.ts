/** `tightbeam` from the sources with one fence missing: `node sabotaged.ts <sabotage> serve`. */

import { registerHooks } from "node:module";
import { fileURLToPath } from "node:url";
import { SABOTAGES } from "./sabotages.ts";

const ROOT = new URL("../../", import.meta.url);
const [, , name, ...args] = process.argv;
const sabotage = SABOTAGES.find((one) => one.name === name);
if (sabotage === undefined) throw new Error(`there is no sabotage ${name}`);
const { href } = new URL(sabotage.file, ROOT);

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    if (url !== href) return loaded;
    const parts = String(loaded.source).split(sabotage.text);
    if (parts.length !== 2) throw new Error(`${sabotage.file} has "${sabotage.text}" ${parts.length - 1} times`);
    return { ...loaded, source: parts.join(sabotage.replacement) };
  },
});

const { run } = await import("../../cli/main.ts");
const onInterrupt = (act: () => void) => {
  const signals = ["SIGINT", "SIGTERM"] as const;
  for (const signal of signals) process.on(signal, act);
  return () => {
    for (const signal of signals) process.off(signal, act);
  };
};
const code = await run(args, "0.0.0", {
  root: fileURLToPath(ROOT),
  env: process.env,
  stdout: process.stdout,
  stderr: process.stderr,
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  onInterrupt,
  ask: null,
});
// With 0 the service runs on.
if (code !== 0) process.exit(code);
