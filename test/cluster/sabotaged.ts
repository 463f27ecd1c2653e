/** `tightbeam` from the sources, with the fault planted that `TB_FAULT` names: `node sabotaged.ts serve`. */

import { fileURLToPath } from "node:url";

const ROOT = new URL("../../", import.meta.url);
await import("../mutations/plant.ts");
const { run } = await import("../../cli/main.ts");
const onInterrupt = (act: () => void) => {
  const signals = ["SIGINT", "SIGTERM"] as const;
  for (const signal of signals) process.on(signal, act);
  return () => {
    for (const signal of signals) process.off(signal, act);
  };
};
const code = await run(process.argv.slice(2), "0.0.0", {
  root: fileURLToPath(ROOT),
  env: process.env,
  stdout: process.stdout,
  stderr: process.stderr,
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  onInterrupt,
  outliveOutput: () => {},
  ask: null,
});
// With 0 the service runs on.
if (code !== 0) process.exit(code);
