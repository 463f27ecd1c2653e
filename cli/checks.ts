/** What `doctor` looks at: each check ends in findings, in words that one can act on. Changes nothing anywhere. */

import { Tightbeam } from "../sdk/client.ts";
import { TightbeamError } from "../sdk/errors.ts";
import type { Health } from "../sdk/wire.ts";
import { channelFindings } from "./channel-checks.ts";
import { broken, type CheckResult, ok, warning } from "./check-result.ts";
import type { Connection, Server } from "./connection.ts";
import { webhookFindings } from "./webhook-checks.ts";

/** What there is to look at. Null: no such key was found. */
export interface Examined {
  server: Server;
  messages: Connection | null;
  admin: Connection | null;
  /** Of this program. */
  version: string;
}

/** An answer is waited for that long. */
const TIMEOUT_MS = 5_000;

/** Goes through all checks, as far as they make sense. Never rejects because of what it finds. */
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
  const findings = [
    ok("server", `${server.baseUrl} answers (address from ${server.origin})`),
    await versionFinding(examined),
    clockFinding(health),
  ];
  // One key given by --key stands for both kinds: it is tried as what most commands need.
  const adminKey = admin !== null && admin.apiKey !== messages?.apiKey ? admin : null;
  const adminClient = adminKey === null ? null : recording(adminKey).client;
  const channels = await instanceFindings(adminKey, adminClient);
  const isToldBelow = channels.some(({ check }) => check === "instances") && adminClient !== null;
  return [
    ...findings,
    ...healthFindings(checks, isToldBelow),
    ...(await keyFindings(messages, adminClient)),
    ...channels,
  ];
}

/** The answer, or why there is none. */
async function get({ baseUrl }: Server, path: string): Promise<Response | string> {
  try {
    const url = baseUrl.replace(/\/+$/, "") + path;
    return await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS), redirect: "manual" });
  } catch (error) {
    const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
    if (cause instanceof Error && "code" in cause && typeof cause.code === "string") return cause.code;
    return cause instanceof Error ? cause.message : String(cause);
  }
}

async function versionFinding({ server, version }: Examined): Promise<CheckResult> {
  const answer = await get(server, "/openapi.json");
  const document: unknown = answer instanceof Response && answer.ok ? await answer.json().catch(() => null) : null;
  const found = field(field(document, "info"), "version");
  if (typeof found !== "string")
    return warning("version", "the server does not say its own", "It may be an older one.");
  if (found === version) return ok("version", `${found}, here and there`);
  return warning(
    "version",
    `the server is ${found}, this command line ${version}`,
    "Update the older one: a command may know what the other end does not.",
  );
}

function field(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}

/** Farther off, and a receiver on this machine refuses what the server signs. */
const SKEW_SECONDS_MAX = 300;
const SKEW_SECONDS_WORTH_A_LOOK = 30;

function clockFinding(answer: Response): CheckResult {
  const theirs = Date.parse(answer.headers.get("Date") ?? "");
  if (Number.isNaN(theirs))
    return warning("clock", "the server does not say what time it is", "Is a proxy in between?");
  // The header is cut to whole seconds: on average half of one is missing.
  const skewSeconds = Math.round((Date.now() - theirs - 500) / 1_000);
  const amount = `${Math.abs(skewSeconds)} s ${skewSeconds > 0 ? "ahead of" : "behind"} the server's`;
  const advice = "Set both clocks by NTP: signatures that are 300 s off are refused.";
  if (Math.abs(skewSeconds) > SKEW_SECONDS_MAX) return broken("clock", `this machine's is ${amount}`, advice);
  if (Math.abs(skewSeconds) > SKEW_SECONDS_WORTH_A_LOOK) return warning("clock", `this machine's is ${amount}`, advice);
  return ok("clock", "the same here and there");
}

/** What `/health` says; of instances only where nothing else tells of them by name. */
function healthFindings(checks: Health["checks"], isToldBelow: boolean): CheckResult[] {
  const parts = Object.entries(checks).filter(([name]) => !(isToldBelow && name === "channels"));
  const ill = parts.filter(([, { status }]) => status !== "ok");
  const named = parts.length === 1 ? `${parts[0]?.[0]} is well` : `${parts.length} parts of the server, all well`;
  if (ill.length === 0) return [ok("health", named)];
  return ill.map(([name, { status, message }]) => {
    return broken("health", `${name} is ${status}${message === undefined ? "" : `: ${message}`}`, adviceFor(name));
  });
}

function adviceFor(part: string): string {
  if (part === "rows") return "On the server's machine, tightbeam quarantine lists them and says how to mend them.";
  if (part === "channels") return "An administrator sees more: TIGHTBEAM_ADMIN_KEY=… tightbeam doctor";
  return "Look at the server's log.";
}

/** A client that gives up at once, and the head of its last answer. */
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
      const answer = await fetch(input, init);
      last = answer.headers;
      return answer;
    },
  });
  return { client, last: () => last };
}

/** What the API refuses, as a finding; whatever else goes wrong is a bug and thrown. */
function refusal(check: string, error: unknown, advice: string): CheckResult {
  if (error instanceof TightbeamError) return broken(check, `${error.code} ${error.message}`, advice);
  throw error;
}

async function keyFindings(connection: Connection | null, admin: Tightbeam | null): Promise<CheckResult[]> {
  if (connection === null) {
    const advice = "Pass --key, or set TIGHTBEAM_API_KEY. With the admin key, tightbeam keys create <name> makes one.";
    return [broken("key", "there is none for this server", advice)];
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
      limitFinding(last()),
      ...numbers.map((number) => numberFinding(number)),
      ...(numbers.length > 0
        ? []
        : [broken("numbers", "this customer has none to send from", "An administrator has to give it one.")]),
      ...(await webhookFindings(client)),
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

/** Whose key it is, in words; nothing where the admin key is not good enough to say so. */
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

function limitFinding(head: Headers | null): CheckResult {
  const [limit, remaining, reset] = ["Limit", "Remaining", "Reset"].map((name) => {
    const value = head?.get(`X-RateLimit-${name}`) ?? null;
    return value === null ? null : Number(value);
  });
  if (limit == null || remaining == null || reset == null) return ok("rate limit", "none");
  const found = `${remaining} of ${limit} requests left until ${new Date(reset * 1_000).toISOString()}`;
  if (remaining > limit * REMAINING_WORTH_A_LOOK) return ok("rate limit", found);
  return warning("rate limit", found, "Wait until then, or have the key given a higher limit.");
}

function numberFinding({
  phoneNumber,
  email,
  healthStatus,
  instanceName,
}: Awaited<ReturnType<Tightbeam["numbers"]>>[0]): CheckResult {
  const found = `${phoneNumber ?? email} is ${healthStatus} (${instanceName})`;
  if (healthStatus === "healthy") return ok("numbers", found);
  const advice = "Messages from it wait until it is well. An administrator sees why: tightbeam instances list";
  return healthStatus === "unhealthy" ? broken("numbers", found, advice) : warning("numbers", found, advice);
}

async function instanceFindings(connection: Connection | null, admin: Tightbeam | null): Promise<CheckResult[]> {
  if (connection === null || admin === null) {
    return [warning("instances", "not looked at: there is no admin key", "Set TIGHTBEAM_ADMIN_KEY to see them too.")];
  }
  return channelFindings(admin, `The admin key is from ${connection.origin.apiKey}: is it one, and still valid?`);
}
