/** Turns a Mac's own reports into health and warnings for an operator. Pure. */

import { numberOf, recordOf, textOf } from "../../core/loose-json.ts";
import { maskAddress } from "../../core/phone.ts";
import type { Health } from "../provider.ts";
import { describeFailure, type Failure } from "./client.ts";

/** Fields of `GET /server/info` in use. */
export interface MacInfo {
  serverVersion: string | null;
  /** For example `15.5.0`. */
  macosVersion: string | null;
  privateApi: boolean;
  /** Whether any helper is connected: the one of Messages or the one of FaceTime. */
  helperConnected: boolean;
  proxy: string | null;
  /** Clock difference of the Mac, in seconds. */
  clockOffSeconds: number | null;
}

/** Fields of `GET /icloud/account` in use. */
export interface MacAccount {
  loginStatus: string | null;
  /** Address from which new conversations begin. */
  activeAlias: string | null;
  aliases: readonly string[];
  smsForwarding: boolean | null;
}

/** Everything known of a Mac at one moment. */
export interface MacStatus {
  /** Why the Mac cannot send; null if it can, or before the first check. */
  down: Failure | "privateApiOff" | "helperGone" | null;
  info: MacInfo | null;
  account: MacAccount | null;
  /** Whether Apple knows our own address; null if not known. */
  ownOnImessage: boolean | null;
  /** Our addresses on the instance. */
  numbers: readonly string[];
  /** Our addresses that Apple may have removed from the account. */
  suspectedLost: readonly string[];
  /** Messages sent since the last sign of life from Apple, and the time since the first of them. */
  unconfirmed: { messages: number; forMs: number };
  /** Contacts' messages since the start that came to no number of the instance, and that nobody got. */
  unaddressed: number;
}

/** This many messages over this time without a sign of life are no coincidence. */
const UNCONFIRMED_MESSAGES = 5;
const UNCONFIRMED_MS = 3_600_000;
const CLOCK_OFF_SECONDS = 5;
const MACOS_UNPROVEN = 26;
/** Tunnels whose address changes with each start. */
const QUICK_TUNNELS = ["cloudflare", "ngrok", "localtunnel", "zrok"];

/** Parses `server/info`. */
export function parseInfo(data: unknown): MacInfo {
  const record = recordOf(data) ?? {};
  return {
    serverVersion: textOf(record.server_version),
    macosVersion: textOf(record.os_version),
    privateApi: record.private_api === true,
    helperConnected: record.helper_connected === true,
    proxy: textOf(record.proxy_service),
    clockOffSeconds: numberOf(record.macos_time_sync),
  };
}

/** Parses `icloud/account`. */
export function parseAccount(data: unknown): MacAccount {
  const record = recordOf(data) ?? {};
  const vetted = Array.isArray(record.vetted_aliases) ? record.vetted_aliases : [];
  const named = vetted.map((alias) => textOf(recordOf(alias)?.Alias)).filter((alias) => alias !== null);
  return {
    loginStatus: textOf(record.login_status_message),
    activeAlias: textOf(record.active_alias),
    aliases: named,
    smsForwarding: typeof record.sms_forwarding_enabled === "boolean" ? record.sms_forwarding_enabled : null,
  };
}

/** Major version of macOS; null if not known. */
export function macosMajor(info: MacInfo | null): number | null {
  const major = Number.parseInt(info?.macosVersion ?? "", 10);
  return Number.isNaN(major) ? null : major;
}

/** Clock difference of the Mac in milliseconds; 0 if it is within the error of the measurement, or not known. */
export function clockOffMs(info: MacInfo | null): number {
  const seconds = Math.abs(info?.clockOffSeconds ?? 0);
  return seconds > CLOCK_OFF_SECONDS ? seconds * 1_000 : 0;
}

/** Whether the request to stop typing works. Up to 1.9.9 it starts typing. */
export function stopsTyping(info: MacInfo | null): boolean {
  const [major = 0, minor = 0, patch = 0] = (info?.serverVersion ?? "0")
    .split(".")
    .map((part) => Number.parseInt(part, 10));
  return major > 1 || (major === 1 && (minor > 9 || (minor === 9 && patch > 9)));
}

/** Health of a Mac: problems, and what an operator can do about them. */
export function healthOf(macStatus: MacStatus): Health {
  const { down, info } = macStatus;
  if (down !== null) {
    const message = describeDown(down);
    return { status: "unhealthy", message, warnings: [message, ...warningsOf(macStatus)] };
  }
  if (info === null) return { status: "unknown", message: "The Mac has not responded yet." };
  const problems = problemsOf(macStatus);
  const warnings = [...problems, ...warningsOf(macStatus)];
  const status = problems.length > 0 ? "degraded" : "healthy";
  const message =
    problems[0] ??
    `BlueBubbles ${info.serverVersion ?? "of an unknown version"} on macOS ${info.macosVersion ?? "of an unknown version"}`;
  return warnings.length === 0 ? { status, message } : { status, message, warnings };
}

/** Explains why the Mac cannot send, and what an operator can do. */
export function describeDown(down: NonNullable<MacStatus["down"]>): string {
  if (down === "privateApiOff") {
    return "The Private API is off: turn it on in the settings of BlueBubbles, on a Mac with System Integrity Protection disabled.";
  }
  if (down === "helperGone") {
    return "The Private API helper is not connected: open Messages on the Mac, check that its user is logged in at the screen, and restart BlueBubbles.";
  }
  if (down.kind === "errorResponse" && down.status === 401) {
    return "The Mac rejects the password: set this instance's password to the one in the settings of BlueBubbles.";
  }
  if (down.kind === "errorResponse" && down.type === null) {
    return `The server at this address is not BlueBubbles (it responded with ${down.status}): check the instance's url.`;
  }
  if (down.kind === "errorResponse") return `BlueBubbles fails: ${describeFailure(down)}. Restart it, or read its log.`;
  return `${capital(describeFailure(down))}. Check that the Mac is awake, that BlueBubbles runs, and that the instance's url is right.`;
}

/** Problems that stop messages although the Mac responds. */
function problemsOf({
  account,
  info,
  ownOnImessage,
  unconfirmed,
  numbers,
  suspectedLost,
  unaddressed,
}: MacStatus): string[] {
  const problems: string[] = [];
  const login = account?.loginStatus ?? null;
  if (login !== null && !/^(connected|signed in|online|active)/i.test(login)) {
    problems.push(
      `The Mac's Apple account reports “${login.slice(0, 100)}”: sign in to iMessage again in the settings of Messages.`,
    );
  }
  if (ownOnImessage === false) {
    problems.push(
      "Apple reports that our own address is not on iMessage: sign out of iMessage on the Mac and in again, and check that the address is ticked.",
    );
  }
  if (
    account !== null &&
    account.activeAlias !== null &&
    !isOneOf(numbers, account.activeAlias) &&
    numbers.length > 0
  ) {
    problems.push(
      `Messages begins conversations from ${maskAddress(account.activeAlias)}, which is not a number of this instance: choose the right address under “Start new conversations from”.`,
    );
  }
  for (const address of account === null ? [] : suspectedLost) {
    if (isOneOf(account?.aliases ?? [], address)) continue;
    problems.push(
      `Apple removed ${maskAddress(address)} from the account of this Mac: sign in with it again in Messages.`,
    );
  }
  if (unconfirmed.messages >= UNCONFIRMED_MESSAGES && unconfirmed.forMs >= UNCONFIRMED_MS) {
    const minutes = Math.floor(unconfirmed.forMs / 60_000);
    problems.push(
      `Messages accepted ${unconfirmed.messages} messages in ${minutes} minutes, and nothing came back from Apple: check Messages on the Mac.`,
    );
  }
  if (unaddressed > 0) {
    const messages = unaddressed === 1 ? "A message of a contact" : `${unaddressed} messages of contacts`;
    problems.push(
      `${messages} came to an address that is no number of this instance, and nobody got ${unaddressed === 1 ? "it" : "them"}: give the addresses of this Mac to customers, or remove them in the settings of Messages.`,
    );
  }
  const off = Math.abs(info?.clockOffSeconds ?? 0);
  if (off > CLOCK_OFF_SECONDS) {
    problems.push(`The Mac's clock is off by ${Math.round(off)} seconds: turn on “Set time and date automatically”.`);
  }
  return problems;
}

/** Warnings about problems that may come. */
function warningsOf({ info, account }: MacStatus): string[] {
  const warnings: string[] = [];
  const major = macosMajor(info);
  if (major !== null && major >= MACOS_UNPROVEN) {
    warnings.push(
      `BlueBubbles is not proven on macOS ${major} yet: typing, edits and SMS may not work. It is proven on macOS 14 and 15.`,
    );
  }
  const proxy = info?.proxy?.toLowerCase() ?? "";
  if (QUICK_TUNNELS.some((name) => proxy.includes(name))) {
    warnings.push(
      `BlueBubbles publishes itself through ${info?.proxy ?? "a tunnel"}, whose address may change with any start: use its address in your network, a VPN, or a domain of your own.`,
    );
  }
  if (account?.smsForwarding === false) warnings.push(SMS_NOT_FORWARDED);
  return warnings;
}

/** How to set up SMS through a Mac. */
export const SMS_NOT_FORWARDED =
  "The Mac does not forward SMS: on an iPhone with the same Apple ID, switch the Mac on under Settings, Messages, Text Message Forwarding";

function isOneOf(addresses: readonly string[], alias: string): boolean {
  return addresses.some((address) => plain(address) === plain(alias));
}

/** Normalises an alias, which may contain spaces or a scheme. */
function plain(address: string): string {
  return address
    .toLowerCase()
    .replace(/^(tel|mailto):/, "")
    .replace(/[\s()-]/g, "");
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
