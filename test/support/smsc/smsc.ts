/** A message centre for tests, on Debian's Net::SMPP: starts, controls and observes it. */

import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { createInterface } from "node:readline";
import type { TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { freePort } from "../free-port.ts";
import { until } from "../wait.ts";

const SCRIPT = fileURLToPath(new URL("smsc.pl", import.meta.url));
const INSTALL = "apt-get install -y --no-install-recommends libnet-smpp-perl";

/** The default account of the message centre. */
export const SYSTEM_ID = "tightbeam";
export const PASSWORD = "secret";

/** A submit_sm as the other codec decoded it. Octets and optional parameters in hexadecimal. */
export interface SeenSubmit {
  event: "submit";
  /** The command_status of the response. */
  status: number;
  id: string;
  part: number;
  total: number;
  /** By the message centre's clock, in seconds. */
  at: number;
  /** The text without its header. */
  octets: string;
  short_message: string;
  service_type: string;
  source_addr_ton: number;
  source_addr_npi: number;
  source_addr: string;
  dest_addr_ton: number;
  dest_addr_npi: number;
  destination_addr: string;
  esm_class: number;
  protocol_id: number;
  priority_flag: number;
  validity_period: string;
  registered_delivery: number;
  data_coding: number;
  user_message_reference?: string;
  sar_msg_ref_num?: string;
  sar_total_segments?: string;
  sar_segment_seqnum?: string;
  message_payload?: string;
}

/** Everything else that the centre saw: binds, responses, ended connections. */
export interface Seen {
  event: string;
  mode?: string;
  status?: number;
  system_type?: string;
  version?: number;
  port?: number;
  /** The position of an answered deliver_sm among all orders. */
  number?: number;
}

/**
 * An order: fields of a PDU by their names in SMPP 3.4, `short_message` and optional parameters in hexadecimal. `rest`:
 * octets behind its last parameter, in hexadecimal too. `unsent`: how many octets at its end are counted and not sent.
 */
export type Order = { do: string } & Record<string, string | number | boolean>;

export interface Smsc {
  port: number;
  submits: SeenSubmit[];
  seen: Seen[];
  order(order: Order): Promise<void>;
  /** The order `deliver`, from `from` to `to`, both international. */
  deliver(from: string, to: string, fields: Record<string, string | number>): Promise<void>;
  /** Ends the centre at once, like a power cut. */
  kill(): Promise<void>;
}

/**
 * Whether the centre can be started here. If not, the test is skipped with the reason, or fails if no test may be
 * skipped.
 */
export function hasSmsc(t: TestContext): boolean {
  if (isInstalled()) return true;
  const reason = `Net::SMPP is not installed: ${INSTALL}`;
  assert.equal(process.env.CI, undefined, reason);
  t.skip(reason);
  return false;
}

let installed: boolean | null = null;

/** Whether this machine has Perl with Net::SMPP. */
export function isInstalled(): boolean {
  installed ??= spawnSync("perl", ["-MNet::SMPP", "-MJSON::PP", "-e", "1"]).status === 0;
  return installed;
}

/** Starts the centre on a port that stays its own when it is killed; `options` are those of the script. */
export async function startSmsc(options: Record<string, string | number> = {}): Promise<Smsc> {
  const args = Object.entries({ port: await freePort(), ...options }).flatMap(([name, value]) => [
    `--${name}`,
    String(value),
  ]);
  const child = spawn("perl", [SCRIPT, ...args], { stdio: ["pipe", "pipe", "pipe"] });
  const submits: SeenSubmit[] = [];
  const seen: Seen[] = [];
  let errors = "";
  child.stderr.on("data", (chunk: Buffer) => {
    errors += chunk.toString();
  });
  createInterface({ input: child.stdout }).on("line", (line) => {
    const event = JSON.parse(line) as SeenSubmit | Seen;
    if (event.event === "submit") submits.push(event as SeenSubmit);
    else seen.push(event as Seen);
  });
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const alive = () => {
    if (child.exitCode !== null) throw new Error(`the message centre ended: ${errors}`);
  };
  const port = await until(() => {
    alive();
    return seen.find(({ event }) => event === "listening")?.port ?? 0;
  });
  const order = (given: Order) => obey(child, seen, given, alive);
  return {
    port,
    submits,
    seen,
    order,
    deliver: (from, to, fields) =>
      order({
        do: "deliver",
        source_addr_ton: 1,
        source_addr_npi: 1,
        dest_addr_ton: 1,
        dest_addr_npi: 1,
        source_addr: from,
        destination_addr: to,
        ...fields,
      }),
    async kill() {
      child.kill("SIGKILL");
      await exited;
    },
  };
}

async function obey(child: ChildProcess, seen: Seen[], order: Order, alive: () => void): Promise<void> {
  const done = () => seen.filter(({ event }) => event === "done").length;
  const before = done();
  child.stdin?.write(`${JSON.stringify(order)}\n`);
  await until(
    () => {
      alive();
      return done() > before;
    },
    { what: `the order ${order.do}` },
  );
}
