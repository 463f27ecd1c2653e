/** Every setting, once: its name, flag, default and rule. The only file of the server that reads the environment. */

import { type BlockList, isIP } from "node:net";
import leven from "leven";
import type { RateLimit, ServiceSetting } from "../sdk/wire.ts";
import { type AllowList, isLocalOnly, parseAllowList, parseNetworks } from "./core/address.ts";
import {
  DAY_MS,
  databaseUrl,
  duration,
  key,
  onOrOff,
  publicUrl as parsePublicUrl,
  parseSecretKey,
  REQUESTS_MAX,
  RETRIES_MAX,
  rateLimit,
  SECOND_MS,
  schedule,
  wholeNumber,
} from "./setting-values.ts";

/** The service cannot start. The message is one line: the problem, the value, and the allowed values. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

const LOG_LEVELS = ["fatal", "error", "warn", "info", "debug", "trace", "silent"] as const;
/** Log levels, most severe first; `silent` logs nothing. */
export type LogLevel = (typeof LOG_LEVELS)[number];

const REQUEST_LOGS = ["off", "on", "bodies"] as const;
const ROLES = ["all", "api", "worker"] as const;

/** The parsed settings. Times are milliseconds. */
export interface Config {
  /** 0 selects any free port. */
  port: number;
  host: string;
  dataDir: string;
  /** The URL of the PostgreSQL database, with its password. Null: the embedded database in the data directory. */
  databaseUrl: string | null;
  role: (typeof ROLES)[number];
  /** Without a trailing slash. Null: made of host and port. */
  memberUrl: string | null;
  /** Without a trailing slash. Null: `baseUrl` derives it from host and port. */
  publicUrl: string | null;
  /** Whether only this machine reaches the service: host and public URL are loopback addresses, so no proxy is in front. */
  isLocalOnly: boolean;
  apiKey: string | null;
  adminKey: string | null;
  /** The limit of keys without their own limit. Null: no limit. */
  rateLimit: RateLimit | null;
  /** The list that applies while every instance is a sandbox. */
  webhookAllow: AllowList;
  /** The list that applies once an instance is not a sandbox: without the `loopback` default. */
  webhookAllowReal: AllowList;
  fetchAllow: AllowList;
  /** Proxies whose `X-Forwarded-For` is read. */
  trustedProxies: BlockList;
  /** Delays before the retries of a delivery, 1 to 20 of them. */
  webhookRetryScheduleMs: readonly number[];
  /** Concurrent attempts of an endpoint without its own `maxInFlight`. */
  webhookConcurrency: number;
  /** Null: never. */
  fallbackAfterMs: number | null;
  messageTtlMs: number;
  /** Null: no limit. */
  retentionMs: number | null;
  /** 32 bytes. Null: the key is read from the file in the data directory. */
  secretKey: Buffer | null;
  paymentText: boolean;
  smartEncoding: boolean;
  sandboxInbox: boolean;
  /** Null: `bodies` while every instance is a sandbox, else `off`. */
  requestLog: (typeof REQUEST_LOGS)[number] | null;
  logLevel: LogLevel;
  /** Each setting as it was given, without the values of secrets. */
  settings: readonly ServiceSetting[];
  /** One line for each unknown `TB_` variable. The service starts anyway; the command prints them. */
  warnings: readonly string[];
}

/** A setting as the documentation and `--help` describe it. */
export interface ConfigSetting<Default = string | null> {
  /** Name of the environment variable. */
  name: string;
  /** The name in lower case with dashes: `--tb-data-dir`. */
  flag: string;
  /** The text that is used if none is given. Null: no default. */
  default: Default;
  /** One sentence. */
  description: string;
  /** The allowed values, as an error message names them. */
  allowed: string;
  /** Whether the value is never shown, not even in an error. */
  secret: boolean;
}

interface SettingRow<Value, Default = string | null> extends ConfigSetting<Default> {
  /** Parses a text that is not empty. Undefined if the text is not allowed. */
  parse(text: string): Value | undefined;
}

function setting<Value, Default extends string | null>(
  name: string,
  fallback: Default,
  row: Omit<SettingRow<Value>, "name" | "flag" | "default" | "secret"> & { secret?: boolean },
): SettingRow<Value, Default> {
  const flag = `--${name.toLowerCase().replaceAll("_", "-")}`;
  return { secret: false, ...row, name, flag, default: fallback };
}

const MINUTE_MS = 60_000;
const WEBHOOK_CONCURRENCY_MAX = 256;

const KEY_RULE = "tb_ followed by 32 or more letters and digits";
const ALLOW_RULE = "networks (10.0.0.0/8), hosts, or the word loopback, separated by commas";

const TABLE = {
  port: setting("PORT", "8080", {
    description: "The TCP port to listen on; `0` picks a free one and prints it.",
    allowed: "a whole number from 0 to 65535",
    parse: (text) => wholeNumber(text, 0, 65_535),
  }),
  host: setting("HOST", "127.0.0.1", {
    description: "The address to listen on; a loopback address keeps other machines out.",
    allowed: "an IP address or a host name",
    parse: (text) => (isIP(text) !== 0 || /^[A-Za-z0-9]([A-Za-z0-9.-]{0,252})$/.test(text) ? text : undefined),
  }),
  dataDir: setting("TB_DATA_DIR", "./data", {
    description:
      "The directory of the embedded database, the secret key and the credentials of the first start; one process at a time may use it.",
    allowed: "a path",
    parse: (text) => (text.includes("\0") ? undefined : text),
  }),
  publicUrl: setting("TB_PUBLIC_URL", null, {
    description: "The URL at which others reach this service; the default is made of host and port.",
    allowed: "an http or https URL without credentials, query and fragment",
    parse: parsePublicUrl,
  }),
  databaseUrl: setting("DATABASE_URL", null, {
    description:
      "The PostgreSQL database (15 or newer) that holds everything, instead of the embedded database in TB_DATA_DIR.",
    allowed:
      "a URL such as postgres://user:password@host:5432/database, with special characters of the password percent-encoded",
    secret: true,
    parse: databaseUrl,
  }),
  role: setting("TB_ROLE", "all", {
    description:
      "The role of this process: `api` answers requests, `worker` sends messages and webhooks, `all` does both.",
    allowed: "all, api or worker",
    parse: (text) => ROLES.find((role) => role === text),
  }),
  memberUrl: setting("TB_MEMBER_URL", null, {
    description:
      "The URL at which other processes on the same PostgreSQL database reach this one; the default is made of host and port.",
    allowed: "an http or https URL without credentials, query and fragment",
    parse: parsePublicUrl,
  }),
  apiKey: setting("TB_API_KEY", null, {
    description: "The API key of the first customer, instead of a generated one; a new value revokes the old key.",
    allowed: KEY_RULE,
    secret: true,
    parse: key,
  }),
  adminKey: setting("TB_ADMIN_KEY", null, {
    description: "The admin key, instead of a generated one; a new value revokes the old key.",
    allowed: KEY_RULE,
    secret: true,
    parse: key,
  }),
  rateLimit: setting("TB_RATE_LIMIT", "100/60s", {
    description: "Requests that a key may make in a period, unless the key has its own limit; `off` sets no limit.",
    allowed: `off, or 1 to ${REQUESTS_MAX} requests in 1s to 1d, such as 100/60s`,
    parse: rateLimit,
  }),
  webhookAllow: setting("TB_WEBHOOK_ALLOW", null, {
    description:
      "Private addresses that webhooks may be sent to; by default `loopback` while HOST and TB_PUBLIC_URL are loopback addresses and every instance is a sandbox, otherwise none.",
    allowed: ALLOW_RULE,
    parse: parseAllowList,
  }),
  fetchAllow: setting("TB_FETCH_ALLOW", null, {
    description: "Private addresses that media and attachments may be fetched from; by default none.",
    allowed: ALLOW_RULE,
    parse: parseAllowList,
  }),
  trustedProxies: setting("TB_TRUSTED_PROXIES", "loopback", {
    description:
      "Networks of proxies in front of the service: only requests from them may name their client, in `X-Forwarded-For`.",
    allowed: "networks (10.0.0.0/8), addresses, or the word loopback, separated by commas",
    parse: parseNetworks,
  }),
  webhookRetryScheduleMs: setting("TB_WEBHOOK_RETRY_SCHEDULE", "30s,5m,30m,2h,8h,24h,24h", {
    description: "The delay before each retry of a failed delivery, counted from the end of the attempt before it.",
    allowed: `1 to ${RETRIES_MAX} durations from 1ms to 30d, separated by commas, such as 30s,5m,30m`,
    parse: schedule,
  }),
  webhookConcurrency: setting("TB_WEBHOOK_CONCURRENCY", "64", {
    description: "Concurrent webhooks to one endpoint, unless the endpoint has its own `maxInFlight`.",
    allowed: `a whole number from 1 to ${WEBHOOK_CONCURRENCY_MAX}`,
    parse: (text) => wholeNumber(text, 1, WEBHOOK_CONCURRENCY_MAX),
  }),
  fallbackAfterMs: setting("TB_FALLBACK_AFTER", "off", {
    description: "How long a sent message may stay undelivered before the next channel is tried; `off` means no limit.",
    allowed: "off, or a duration from 10s to 24h",
    parse: (text) => (text === "off" ? null : duration(text, 10 * SECOND_MS, DAY_MS)),
  }),
  messageTtlMs: setting("TB_MESSAGE_TTL", "72h", {
    description: "How long a message may wait in the queue before it fails with `EXPIRED`.",
    allowed: "a duration from 1s to 365d",
    parse: (text) => duration(text, SECOND_MS, 365 * DAY_MS),
  }),
  retentionMs: setting("TB_RETENTION", "30d", {
    description:
      "How long events, deliveries, attempts and idempotency keys are kept; `0` keeps them forever, and PostgreSQL deletes a day of events as a whole, so up to a day later.",
    allowed: "0, or a duration from 1m to 3650d",
    parse: (text) => (text === "0" ? null : duration(text, MINUTE_MS, 3_650 * DAY_MS)),
  }),
  secretKey: setting("TB_SECRET_KEY", null, {
    description:
      "The key that encrypts stored secrets, the same for all processes on one database; by default the first start creates one in the data directory.",
    allowed: "32 bytes, as 64 hexadecimal digits or as base64",
    secret: true,
    parse: parseSecretKey,
  }),
  paymentText: setting("TB_PAYMENT_TEXT", "off", {
    description:
      "Whether an iMessage such as “Jane sent you $25.00” marks a payment request as paid, even if the provider detects payments itself.",
    allowed: "on or off",
    parse: onOrOff,
  }),
  smartEncoding: setting("TB_SMART_ENCODING", "off", {
    description:
      "Whether typographic quotation marks, dashes and similar characters of an SMS are replaced if the text then fits GSM-7 instead of UCS-2.",
    allowed: "on or off",
    parse: onOrOff,
  }),
  sandboxInbox: setting("TB_SANDBOX_INBOX", "on", {
    description: "Whether the sandbox's built-in webhook inbox receives every event.",
    allowed: "on or off",
    parse: onOrOff,
  }),
  requestLog: setting("TB_REQUEST_LOG", null, {
    description:
      "The log of requests under `/v1`: `on` keeps no bodies, `bodies` keeps up to 4 KiB of each with secrets masked; by default `bodies` while every instance is a sandbox, otherwise `off`.",
    allowed: `one of ${REQUEST_LOGS.join(", ")}`,
    parse: (text) => REQUEST_LOGS.find((mode) => mode === text),
  }),
  logLevel: setting("LOG_LEVEL", "info", {
    description: "The lowest level that is logged; `silent` logs nothing.",
    allowed: `one of ${LOG_LEVELS.join(", ")}`,
    parse: (text) => LOG_LEVELS.find((level) => level === text),
  }),
};

/** Every setting, in the order of the documentation. */
export const SETTINGS: readonly ConfigSetting[] = Object.values(TABLE);

/** Where webhooks may go by default, if only this machine reaches the service and every instance is a sandbox. */
export const LOCAL_WEBHOOKS = "loopback";

type Environment = Readonly<Record<string, string | undefined>>;
type Flags = Readonly<Record<string, string>>;

/**
 * Reads the settings. `flags` holds flags as written (`{"--port": "9000"}`) and overrides `env`. An empty value counts as unset,
 * except that it empties the two allow lists. Throws `ConfigError` for the first invalid value and for an unknown flag.
 */
export function readConfig(env: Environment, flags: Flags = {}): Config {
  for (const flag of Object.keys(flags)) refuseUnknownFlag(flag);
  const given = (row: ConfigSetting) => flags[row.flag] ?? env[row.name];
  const parse = <Value>(row: SettingRow<Value>, text: string): Value =>
    parseRow(row, text, flags[row.flag] === undefined ? row.name : row.flag);
  const read = <Value>(row: SettingRow<Value, string>): Value => parse(row, given(row) || row.default);
  const readOptional = <Value>(row: SettingRow<Value, null>): Value | null => {
    const text = given(row);
    return text ? parse(row, text) : null;
  };
  const readAllowed = (row: SettingRow<AllowList, null>, fallback: string): AllowList =>
    parse(row, given(row) ?? fallback);

  const host = read(TABLE.host);
  const publicUrl = readOptional(TABLE.publicUrl);
  const config: Config = {
    port: read(TABLE.port),
    host,
    dataDir: read(TABLE.dataDir),
    databaseUrl: readOptional(TABLE.databaseUrl),
    role: read(TABLE.role),
    memberUrl: readOptional(TABLE.memberUrl),
    publicUrl,
    isLocalOnly: isLocalOnly(host, publicUrl),
    apiKey: readOptional(TABLE.apiKey),
    adminKey: readOptional(TABLE.adminKey),
    rateLimit: read(TABLE.rateLimit),
    webhookAllow: readAllowed(TABLE.webhookAllow, isLocalOnly(host, publicUrl) ? LOCAL_WEBHOOKS : ""),
    webhookAllowReal: readAllowed(TABLE.webhookAllow, ""),
    fetchAllow: readAllowed(TABLE.fetchAllow, ""),
    trustedProxies: read(TABLE.trustedProxies),
    webhookRetryScheduleMs: read(TABLE.webhookRetryScheduleMs),
    webhookConcurrency: read(TABLE.webhookConcurrency),
    fallbackAfterMs: read(TABLE.fallbackAfterMs),
    messageTtlMs: read(TABLE.messageTtlMs),
    retentionMs: read(TABLE.retentionMs),
    secretKey: readOptional(TABLE.secretKey),
    paymentText: read(TABLE.paymentText),
    smartEncoding: read(TABLE.smartEncoding),
    sandboxInbox: read(TABLE.sandboxInbox),
    requestLog: readOptional(TABLE.requestLog),
    logLevel: read(TABLE.logLevel),
    settings: SETTINGS.map((row) => describeSetting(row, flags[row.flag], env[row.name])),
    warnings: unknownVariables(env),
  };
  if (config.role !== "all" && config.databaseUrl === null)
    throw new ConfigError(
      `TB_ROLE is ${config.role}: set DATABASE_URL, since only PostgreSQL can have several processes.`,
    );
  if (config.apiKey !== null && config.apiKey === config.adminKey) {
    throw new ConfigError("TB_API_KEY and TB_ADMIN_KEY are the same key: they must differ.");
  }
  return config;
}

/** Settings whose empty value is a value: no address is allowed. */
const EMPTIED: ReadonlySet<string> = new Set([TABLE.webhookAllow.name, TABLE.fetchAllow.name]);

/** A setting as it was given by its flag or its variable. */
function describeSetting(row: ConfigSetting, flag: string | undefined, variable: string | undefined): ServiceSetting {
  const { name, secret: isSecret } = row;
  const text = flag ?? variable;
  if (text === undefined || (text === "" && !EMPTIED.has(name)))
    return { name, value: isSecret ? null : row.default, source: "default", isSecret };
  return { name, value: isSecret ? null : text, source: flag === undefined ? "environment" : "flag", isSecret };
}

/** The URL at which others reach the service, without a trailing slash. `port` is the port it listens on. */
export function baseUrl(config: Pick<Config, "publicUrl" | "host">, port: number): string {
  if (config.publicUrl !== null) return config.publicUrl;
  const { host } = config;
  if (host === "0.0.0.0") return `http://127.0.0.1:${port}`;
  if (host === "::") return `http://[::1]:${port}`;
  return `http://${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
}

/** Parses a text. `source` is its variable or flag, for the error. */
function parseRow<Value>(row: SettingRow<Value>, text: string, source: string): Value {
  let value: Value | undefined;
  let hint = "";
  try {
    value = row.parse(text);
  } catch (error) {
    hint = ` (${(error as Error).message})`;
  }
  if (value !== undefined) return value;
  const shown = row.secret ? "set to something else (not shown)" : JSON.stringify(text);
  throw new ConfigError(`${source} is ${shown}: it must be ${row.allowed}${hint}.`);
}

function refuseUnknownFlag(flag: string): void {
  const known = SETTINGS.map((row) => row.flag);
  if (known.includes(flag)) return;
  const near = nearest(flag, known);
  const hint = near === null ? "tightbeam serve --help lists the flags" : `did you mean ${near}?`;
  throw new ConfigError(`${JSON.stringify(flag)} is not a flag: ${hint}`);
}

function unknownVariables(env: Environment): string[] {
  const known = SETTINGS.map((row) => row.name);
  const unknown = Object.keys(env).filter((name) => name.startsWith("TB_") && !known.includes(name));
  return unknown.sort().map((name) => {
    const near = nearest(name, known);
    return `${name} is not a setting and is ignored${near === null ? "." : `: did you mean ${near}?`}`;
  });
}

const TYPOS_MAX = 3;

/** The candidate with the fewest edits, if they are few enough for a typing error. */
function nearest(text: string, candidates: readonly string[]): string | null {
  let best: string | null = null;
  let bestEdits = TYPOS_MAX + 1;
  for (const candidate of candidates) {
    const edits = leven(text, candidate);
    if (edits < bestEdits) [best, bestEdits] = [candidate, edits];
  }
  return best;
}
