/** The checks of `doctor`: each ends in results that say what to do. Changes nothing. */

import { withoutTrailingSlashes } from "../sdk/base-url.ts";
import { Tightbeam } from "../sdk/client.ts";
import { TightbeamError } from "../sdk/errors.ts";
import type { Health } from "../sdk/wire.ts";
import { channelResults } from "./channel-checks.ts";
import { broken, type CheckResult, ok, warning } from "./check-result.ts";
import type { Connection, Server } from "./connection.ts";
import { queueResults } from "./queue-checks.ts";
import { webhookResults } from "./webhook-checks.ts";

/** The server, keys and version to check. A key is null if none was found. */
export interface Examined {
  server: Server;
  messages: Connection | null;
  admin: Connection | null;
  /** Version of this program. */
  version: string;
  /** The service's PostgreSQL database, if this machine knows it. */
  databaseUrl: string | null;
}

/** Longest wait for a response. */
const TIMEOUT_MS = 5_000;

/** Runs all checks that apply. Never rejects because a check fails. */
export async function examineAll(examined: Examined): Promise<CheckResult[]> {
  const { server, messages, admin } = examined;
  const health = await get(server, "/health");
  if (!(health instanceof Response)) {
    const advice = `Is it running? tightbeam serve starts one here; --url or TIGHTBEAM_URL name another.`;
    return [broken("server", `${server.baseUrl} (from ${server.origin}) does not answer: ${health}`, advice)];
  }
  const { status, checks } = ((await health.json().catch(() => null)) ?? {}) as Partial<Health>;
  if (status === undefined || checks === undefined) {
    const found = `${server.baseUrl} (from ${server.origin}) answers, but not as this service does: HTTP ${health.status}`;
    return [broken("server", found, "Is it the address of a Tightbeam server, without a path?")];
  }
  const results = [
    ok("server", `${server.baseUrl} answers (address from ${server.origin})`),
    await versionResult(examined),
    clockResult(health),
  ];
  // --key gives both kinds of key: it is checked as a customer's, which most commands need.
  const adminKey = admin !== null && admin.apiKey !== messages?.apiKey ? admin : null;
  const adminClient = adminKey === null ? null : recording(adminKey).client;
  const channels = await instanceResults(adminKey, adminClient);
  const isListedBelow = channels.some(({ check }) => check === "instances") && adminClient !== null;
  return [
    ...results,
    ...healthResults(checks, isListedBelow),
    ...(await keyResults(messages, adminClient)),
    ...channels,
    ...(await queueResults(examined.databaseUrl)),
  ];
}

/** The response, or why there is none. */
async function get({ baseUrl }: Server, path: string): Promise<Response | string> {
  try {
    const url = withoutTrailingSlashes(baseUrl) + path;
    return await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS), redirect: "manual" });
  } catch (error) {
    const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
    if (cause instanceof Error && "code" in cause && typeof cause.code === "string") return cause.code;
    return cause instanceof Error ? cause.message : String(cause);
  }
}

async function versionResult({ server, version }: Examined): Promise<CheckResult> {
  const response = await get(server, "/openapi.json");
  const document: unknown =
    response instanceof Response && response.ok ? await response.json().catch(() => null) : null;
  const found = field(field(document, "info"), "version");
  if (typeof found !== "string")
    return warning("version", "the server does not name its version", "It may be an older one.");
  if (found === version) return ok("version", `${found}, the same on both sides`);
  return warning(
    "version",
    `the server is ${found}, this command line ${version}`,
    "Update the older one: a command may use what the server does not have.",
  );
}

function field(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}

/** With a greater skew, a receiver on this machine refuses what the server signs. */
const SKEW_SECONDS_MAX = 300;
const SKEW_SECONDS_WORTH_A_LOOK = 30;

function clockResult(response: Response): CheckResult {
  const theirs = Date.parse(response.headers.get("Date") ?? "");
  if (Number.isNaN(theirs)) return warning("clock", "the server does not send its time", "Is a proxy in between?");
  // The header has whole seconds: on average half a second is cut off.
  const skewSeconds = Math.round((Date.now() - theirs - 500) / 1_000);
  const amount = `${Math.abs(skewSeconds)} s ${skewSeconds > 0 ? "ahead of" : "behind"} the server's`;
  const advice = "Set both clocks by NTP: receivers refuse signatures that are 300 s off.";
  if (Math.abs(skewSeconds) > SKEW_SECONDS_MAX) return broken("clock", `this machine's is ${amount}`, advice);
  if (Math.abs(skewSeconds) > SKEW_SECONDS_WORTH_A_LOOK) return warning("clock", `this machine's is ${amount}`, advice);
  return ok("clock", "the same on both sides");
}

/** Results from `/health`; instances are left out if another check lists them by name. */
function healthResults(checks: Health["checks"], isListedBelow: boolean): CheckResult[] {
  const parts = Object.entries(checks).filter(([name]) => !(isListedBelow && name === "channels"));
  const ill = parts.filter(([, { status }]) => status !== "ok");
  const named = parts.length === 1 ? `${parts[0]?.[0]} is well` : `${parts.length} parts of the server, all well`;
  if (ill.length === 0) return [ok("health", named)];
  return ill.map(([name, { status, message }]) => {
    return broken("health", `${name} is ${status}${message === undefined ? "" : `: ${message}`}`, adviceFor(name));
  });
}

function adviceFor(part: string): string {
  if (part === "workers") return "Start a process with the same DATABASE_URL and TB_ROLE worker or all.";
  if (part === "rows") return "On the server's machine, tightbeam quarantine lists the rows and repairs them.";
  if (part === "channels") return "An administrator sees more: TIGHTBEAM_ADMIN_KEY=… tightbeam doctor";
  return "Look at the server's log.";
}

/** A client without retries, and the headers of its last response. */
function recording({ baseUrl, apiKey }: Connection): { client: Tightbeam; last(): Headers | null } {
  let last: Headers | null = null;
  const client = new Tightbeam({
    baseUrl,
    apiKey,
    timeoutMs: TIMEOUT_MS,
    wait: async (_, why) => {
      throw why;
    },
    async fetch(input, init) {
      const response = await fetch(input, init);
      last = response.headers;
      return response;
    },
  });
  return { client, last: () => last };
}

/** A refusal of the API as a result; throws any other error, which is a bug. */
function refusal(check: string, error: unknown, advice: string): CheckResult {
  if (error instanceof TightbeamError) {
    const isOfServer = error.code === "SERVICE_UNAVAILABLE";
    return broken(check, `${error.code} ${error.message}`, isOfServer ? "It is not the key: see health." : advice);
  }
  throw error;
}

async function keyResults(connection: Connection | null, admin: Tightbeam | null): Promise<CheckResult[]> {
  if (connection === null) {
    const advice =
      "Pass --key, or set TIGHTBEAM_API_KEY. With the admin key, tightbeam keys create <name> creates one.";
    return [broken("key", "no key is known for this server", advice)];
  }
  const { client, last } = recording(connection);
  const from = `from ${connection.origin.apiKey}`;
  try {
    const numbers = await client.numbers();
    const { key } = await client.usage();
    const whose = key === null || admin === null ? "" : await customerOf(admin, key.id);
    const named = key === null ? "works" : `${key.name} (${key.id})`;
    return [
      ok("key", `${named}, scope messages${whose} (${from})`),
      limitResult(last()),
      ...numbers.map((number) => numberResult(number)),
      ...(numbers.length > 0
        ? []
        : [broken("numbers", "this customer has no number to send from", "An administrator has to give it one.")]),
      ...(await webhookResults(client, connection.baseUrl)),
    ];
  } catch (error) {
    if (error instanceof TightbeamError && error.code === "FORBIDDEN") {
      return [
        broken("key", `it is an admin key (${from})`, "Give the key of a customer: tightbeam keys create <name>"),
      ];
    }
    return [refusal("key", error, `The key is ${from}: give a valid one with --key, or TIGHTBEAM_API_KEY.`)];
  }
}

/** The customer of a key, in words; empty if the admin key cannot find it. */
async function customerOf(admin: Tightbeam, keyId: string): Promise<string> {
  try {
    for await (const { id, customerId } of admin.admin.keys.listAll({ limit: 100 })) {
      if (id !== keyId || customerId === null) continue;
      const { name } = await admin.admin.customers.get(customerId);
      return `, of ${name} (${customerId})`;
    }
  } catch (error) {
    if (!(error instanceof TightbeamError)) throw error;
  }
  return "";
}

const REMAINING_WORTH_A_LOOK = 0.1;

function limitResult(head: Headers | null): CheckResult {
  const [limit, remaining, reset] = ["Limit", "Remaining", "Reset"].map((name) => {
    const value = head?.get(`X-RateLimit-${name}`) ?? null;
    return value === null ? null : Number(value);
  });
  if (limit == null || remaining == null || reset == null) return ok("rate limit", "none");
  const found = `${remaining} of ${limit} requests left until ${new Date(reset * 1_000).toISOString()}`;
  if (remaining > limit * REMAINING_WORTH_A_LOOK) return ok("rate limit", found);
  return warning("rate limit", found, "Wait until then, or give the key a higher limit.");
}

function numberResult({
  phoneNumber,
  email,
  healthStatus,
  instanceName,
}: Awaited<ReturnType<Tightbeam["numbers"]>>[0]): CheckResult {
  const found = `${phoneNumber ?? email} is ${healthStatus} (${instanceName})`;
  if (healthStatus === "healthy") return ok("numbers", found);
  const advice = "Messages from it wait until it is healthy. An administrator sees why: tightbeam instances list";
  return healthStatus === "unhealthy" ? broken("numbers", found, advice) : warning("numbers", found, advice);
}

async function instanceResults(connection: Connection | null, admin: Tightbeam | null): Promise<CheckResult[]> {
  if (connection === null || admin === null) {
    return [warning("instances", "not checked: there is no admin key", "Set TIGHTBEAM_ADMIN_KEY to check them too.")];
  }
  const advice = `The admin key is from ${connection.origin.apiKey}: is it one, and still valid?`;
  return channelResults(admin, advice, Date.now());
}
