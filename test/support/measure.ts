/**
 * `npm run measure`: how large the house is, counted from the tree, and how much of the server one message runs: the functions, files and
 * lines between its request and its last webhook, with the embedded database in the process.
 */

import { globSync, readFileSync } from "node:fs";
import { Session } from "node:inspector/promises";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { startNotifiedService } from "./notified.ts";
import { until } from "./wait.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
/** Messages before the measured one: what only the first ones run does not count. */
const WARMING = 20;

const PARTS = [
  "contract",
  "sdk",
  "server",
  "server/store",
  "server/engine",
  "server/providers",
  "site",
  "cli",
  "console",
  "test",
];

/** Lines and files of the sources below a directory, without tests: of `test`, all of them. */
function sizeOf(part: string): { files: number; lines: number } {
  const all = globSync(`${part}/**/*.{ts,tsx}`, {
    cwd: ROOT,
    exclude: (path) => /(^|\/)node_modules(\/|$)/.test(path),
  });
  const counted = all.filter((path) => part === "test" || !/\.test\.tsx?$/.test(path));
  const lines = counted.reduce((sum, path) => sum + readFileSync(`${ROOT}${path}`, "utf8").split("\n").length - 1, 0);
  return { files: counted.length, lines };
}

/** The functions, files and lines of the server that ran since the call before. */
async function runSince(session: Session): Promise<{ functions: number; files: number; lines: number }> {
  const { result } = await session.post("Profiler.takePreciseCoverage");
  let [functions, lines] = [0, 0];
  const files = new Set<string>();
  for (const { url, functions: found } of result) {
    if (!url.startsWith("file:")) continue;
    const path = relative(ROOT, fileURLToPath(url));
    if (!path.startsWith("server/")) continue;
    const source = readFileSync(`${ROOT}${path}`, "utf8");
    for (const { functionName, ranges } of found) {
      const [whole] = ranges;
      // The first function of a module is the module itself, which runs once.
      if (whole === undefined || whole.count === 0 || (functionName === "" && whole.startOffset === 0)) continue;
      functions += 1;
      files.add(path);
      lines += source.slice(whole.startOffset, whole.endOffset).split("\n").length;
    }
  }
  return { functions, files: files.size, lines };
}

async function costOfMessage(): Promise<{ functions: number; files: number; lines: number }> {
  const { api, receiver, stop } = await startNotifiedService({ TB_SANDBOX_INBOX: "off" });
  const session = new Session();
  session.connect();
  try {
    const deliver = async () => {
      const { data } = await api.ask("POST", "/v1/messages", {
        body: { to: "+15005550100", content: { text: "Hello" } },
      });
      await until(() => receiver.types(data.id).length === 3, { what: "the three webhooks" });
    };
    await session.post("Profiler.enable");
    await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
    for (let count = 0; count < WARMING; count += 1) await deliver();
    await runSince(session);
    await deliver();
    return await runSince(session);
  } finally {
    session.disconnect();
    await stop();
  }
}

console.table(Object.fromEntries(PARTS.map((part) => [part, sizeOf(part)])));
console.table({ "one message": await costOfMessage() });
