/** Runs the service as a process: starts it, prints its address, and stops it on a signal. */

import { type Config, ConfigError } from "../config.ts";
import { type Service, startService } from "./service.ts";

/** A longer stop is cut off, in milliseconds. */
export const STOP_MS_MAX = 29_500;

/** The recipient that the sandbox delivers to. */
const SANDBOX_RECIPIENT = "+15005550100";

/** Log levels at which the log itself says where the service listens. */
const LEVELS_WITH_START: readonly Config["logLevel"][] = ["info", "debug", "trace"];

/** Starts the service and keeps it until SIGTERM or SIGINT. Throws `ConfigError` when it cannot start. */
export async function serve(config: Config, version: string): Promise<void> {
  // Only this user may read the database, keys and credentials.
  process.umask(0o077);
  const starting = startService(config, { version, lost: die });
  stopOnSignal(starting);
  const service = await starting;
  greet(service, config);
}

/** Ends the process in good order on SIGTERM or SIGINT, even during the start. */
function stopOnSignal(starting: Promise<Service>): void {
  let isStopping = false;
  const stop = async () => {
    if (isStopping) return;
    isStopping = true;
    setTimeout(() => process.exit(1), STOP_MS_MAX).unref();
    const service = await starting;
    await service.stop();
    process.exit(0);
  };
  // The caller of `serve` reports a start that fails.
  const stopOrDie = () =>
    void stop().catch((error) =>
      error instanceof ConfigError ? null : die(`the service did not stop in good order (${error})`),
    );
  process.on("SIGTERM", stopOrDie);
  process.on("SIGINT", stopOrDie);
}

/** Prints a greeting to a terminal; otherwise the address, unless the log contains it. */
function greet(service: Service, config: Config): void {
  const terminal = [process.stdout, process.stderr].find(({ isTTY }) => isTTY);
  if (terminal !== undefined) terminal.write(welcome(service, config));
  else if (!LEVELS_WITH_START.includes(config.logLevel)) process.stderr.write(`listening on ${service.url}\n`);
}

/** Ends the process: acknowledged requests are on disk, and others were not acknowledged. */
function die(reason: string): never {
  process.stderr.write(`error: ${reason}\n`);
  process.exit(1);
}

/** The greeting at a terminal. Only the start that generated the keys shows them. */
function welcome({ url, started }: Service, { dataDir }: Config): string {
  const { apiKey, adminKey } = started.generated;
  const lines = ["", `  Tightbeam is ready on ${url}`, ""];
  if (apiKey !== undefined) lines.push(`  API key    ${apiKey}`);
  if (adminKey !== undefined) lines.push(`  Admin key  ${adminKey}`);
  if (apiKey === undefined)
    lines.push(`  Keys: those of the first start (${dataDir}/credentials.json), or TB_API_KEY.`, "");
  else
    lines.push(
      `  Shown this once, and kept in ${dataDir}/credentials.json.`,
      "",
      "  Send a message:",
      "",
      curl(url, apiKey),
      "",
    );
  if (apiKey !== undefined) {
    lines.push("  See its signed webhooks arrive in the built-in inbox:", "");
    lines.push(`  curl -s ${url}/v1/sandbox/inbox \\`, `    -H 'Authorization: Bearer ${apiKey}'`, "");
  }
  return `${lines.join("\n")}\n`;
}

function curl(url: string, apiKey: string): string {
  const body = JSON.stringify({ to: SANDBOX_RECIPIENT, content: { text: "Hello from Tightbeam" } });
  return [
    `  curl -s ${url}/v1/messages \\`,
    `    -H 'Authorization: Bearer ${apiKey}' \\`,
    "    -H 'Content-Type: application/json' \\",
    `    -d '${body}'`,
  ].join("\n");
}
