/** The processes of `deploy/compose.postgres.yaml` as plain processes: each with a role, killed and started again. */

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Running, type Scope, startProcess } from "../support/process.ts";

/** The roles of the processes, by their number. One process does everything. */
const ROLES: Readonly<Record<number, readonly string[]>> = {
  1: ["all"],
  2: ["all", "all"],
  3: ["api", "worker", "worker"],
  4: ["api", "api", "worker", "worker"],
  8: ["api", "api", "api", "worker", "worker", "worker", "worker", "worker"],
};
export const COUNTS = Object.keys(ROLES).map(Number);

/** Warnings at the start: of a process of root, and of one that starts before the workers or has no public URL. */
const EXPECTED = /"event":"(exposed|several processes)"/;
/** Log lines of each process that a failure shows. */
const COMPLAINTS_MAX = 10;

/** A sabotaged process runs the sources, and four of them compile them at once. */
const SABOTAGED_START_MS_MAX = 120_000;
const COMPILED = fileURLToPath(new URL("../../node_modules/.cache/tightbeam-tests", import.meta.url));
const SKEWED = new URL("skewed-clock.ts", import.meta.url).href;
const SABOTAGED = fileURLToPath(new URL("sabotaged.ts", import.meta.url));

export interface ArrangementOptions {
  directory: string;
  processes: number;
  /** Null: each process has the embedded database, so there can be only one. */
  databaseUrl: string | null;
  /** Settings that all processes have. */
  env: Record<string, string>;
  /** The fence that is missing in all processes. */
  sabotage: string | null;
  /** How far the clocks of two hosts are apart, in milliseconds: every other process is behind. */
  skewMs: number;
}

interface Member {
  name: string;
  role: string;
  /** Null while it is dead. */
  running: Running | null;
}

/** Processes on one database. */
export class Arrangement {
  readonly #scope: Scope;
  readonly #options: ArrangementOptions;
  readonly #members: Member[];
  /** Everything that ended processes wrote. */
  readonly logs: string[] = [];

  constructor(scope: Scope, options: ArrangementOptions) {
    const roles = ROLES[options.processes] ?? [];
    this.#scope = scope;
    this.#options = options;
    this.#members = roles.map((role, index) => ({ name: `${role}-${index + 1}`, role, running: null }));
  }

  get names(): string[] {
    return this.#members.map(({ name }) => name);
  }

  /** Starts every process, the first one before the others: it makes the database. */
  async start(): Promise<void> {
    const [first, ...others] = this.#members;
    if (first !== undefined) await this.#startMember(first);
    await Promise.all(others.map((member) => this.#startMember(member)));
  }

  /** Ends a process as `kill -9` does. */
  async kill(name: string): Promise<void> {
    const member = this.#memberOf(name);
    const { running } = member;
    member.running = null;
    await running?.end("SIGKILL");
    if (running !== null) this.logs.push(running.output.stdout, running.output.stderr);
  }

  /** Starts a killed process again, and resolves when it is ready. */
  async restart(name: string): Promise<number> {
    return await this.#startMember(this.#memberOf(name));
  }

  /** Stops every process as SIGTERM does. Returns those that did not exit with 0. */
  async stop(): Promise<string[]> {
    const ends = await Promise.all(
      this.#members.map(async ({ name, running }) => {
        if (running === null) return [];
        const { code, signal } = await running.end("SIGTERM");
        this.logs.push(running.output.stdout, running.output.stderr);
        return code === 0 ? [] : [`${name} ended with ${code ?? signal}: ${running.output.stderr}`];
      }),
    );
    return ends.flat();
  }

  /** The last warnings and errors that each process logged. */
  complaints(): string[] {
    return this.#members.flatMap(({ name, running }) => {
      const lines = `${running?.output.stdout ?? ""}${running?.output.stderr ?? ""}`.split("\n");
      const found = lines.filter((line) => line !== "" && !line.includes('"level":"info"') && !EXPECTED.test(line));
      return found.slice(-COMPLAINTS_MAX).map((line) => `${name}: ${line}`);
    });
  }

  /** A process that answers `/v1` and lives, chosen by `chance`; the first one if all are dead. */
  api(chance: () => number): Running {
    const apis = this.#members.filter(({ role }) => role !== "worker");
    const living = apis.flatMap(({ running }) => (running === null ? [] : [running]));
    return living[Math.floor(chance() * living.length)] ?? this.#lastApi ?? fail("no process was started");
  }

  #lastApi: Running | null = null;

  async #startMember(member: Member): Promise<number> {
    const { directory, databaseUrl, env, sabotage } = this.#options;
    const dataDir = join(directory, member.name);
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    const database = databaseUrl === null ? {} : { DATABASE_URL: databaseUrl };
    const role = member.role === "all" ? {} : { TB_ROLE: member.role };
    const settings = { ...env, ...database, ...role, ...this.#clockOf(member) };
    const sabotaged = {
      program: [process.execPath, SABOTAGED, "serve"],
      // Without the cache each start compiles all sources.
      env: { ...settings, TB_FAULT: sabotage ?? "", NODE_COMPILE_CACHE: COMPILED },
      startMsMax: SABOTAGED_START_MS_MAX,
    };
    const options = { dataDir, ...(sabotage === null ? { env: settings } : sabotaged) };
    member.running = await startProcess(this.#scope, options);
    if (member.role !== "worker") this.#lastApi = member.running;
    return member.running.readyMs;
  }

  /** The settings that let a process go by a wrong clock. */
  #clockOf(member: Member): Record<string, string> {
    const { skewMs } = this.#options;
    if (skewMs === 0) return {};
    const ownMs = (this.#members.indexOf(member) % 2 === 0 ? 1 : -1) * (skewMs / 2);
    return { NODE_OPTIONS: `--import=${SKEWED}`, TEST_CLOCK_SKEW_MS: String(ownMs) };
  }

  #memberOf(name: string): Member {
    return this.#members.find((member) => member.name === name) ?? fail(`there is no process ${name}`);
  }
}

function fail(reason: string): never {
  throw new Error(reason);
}
