/** What a Mac says of itself, and what an operator should know of that, in words. Pure. */

import { numberOf, recordOf, textOf } from "../../core/loose-json.ts";
import { maskAddress } from "../../core/phone.ts";
import type { Health } from "../provider.ts";
import { describeFailure, type Failure } from "./client.ts";

/** `GET /server/info`, what is used of it. */
export interface MacInfo {
  serverVersion: string | null;
  /** As in `15.5.0`. */
  macosVersion: string | null;
  privateApi: boolean;
  /** Whether any of the helpers is connected, that of Messages or that of FaceTime. */
  helperConnected: boolean;
  proxy: string | null;
  /** How far the Mac's clock is off, in seconds. */
  clockOffSeconds: number | null;
}

/** `GET /icloud/account`, what is used of it. */
export interface MacAccount {
  loginStatus: string | null;
  /** The address that new conversations begin from. */
  activeAlias: string | null;
  aliases: readonly string[];
  smsForwarding: boolean | null;
}

/** Everything that is known of a Mac at a moment. */
export interface MacStatus {
  /** Why it can hand over nothing; null while it can, or when nobody asked yet. */
  down: Failure | "privateApiOff" | "helperGone" | null;
  info: MacInfo | null;
  account: MacAccount | null;
  /** What Apple says of our own address; null where it was not asked, or did not say. */
  ownOnImessage: boolean | null;
  /** Our addresses on the instance. */
  numbers: readonly string[];
  /** Those of them of which something said that Apple took them from the account. */
  suspectedLost: readonly string[];
  /** Messages that were taken since anything was heard of Messages, and for how long that has been so. */
  unconfirmed: { messages: number; forMs: number };
}

/** Messages taken with nothing heard of any: so many, and for so long, is no accident. */
const UNHEARD_MESSAGES = 5;
const UNHEARD_MS = 3_600_000;
const CLOCK_OFF_SECONDS = 5;
const MACOS_UNPROVEN = 26;
/** Proxies whose address is another after each start. */
const QUICK_TUNNELS = ["cloudflare", "ngrok", "localtunnel", "zrok"];

/** What `server/info` says. */
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

/** What `icloud/account` says. */
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

/** The major version of macOS, where it is known. */
export function macosMajor(info: MacInfo | null): number | null {
  const major = Number.parseInt(info?.macosVersion ?? "", 10);
  return Number.isNaN(major) ? null : major;
}

/** How far the Mac's clock is off, in milliseconds; 0 where that is no more than asking takes, or not known. */
export function clockOffMs(info: MacInfo | null): number {
  const seconds = Math.abs(info?.clockOffSeconds ?? 0);
  return seconds > CLOCK_OFF_SECONDS ? seconds * 1_000 : 0;
}

/** Whether the call to stop typing stops it: up to 1.9.9 it starts it. */
export function stopsTyping(info: MacInfo | null): boolean {
  const [major = 0, minor = 0, patch = 0] = (info?.serverVersion ?? "0")
    .split(".")
    .map((part) => Number.parseInt(part, 10));
  return major > 1 || (major === 1 && (minor > 9 || (minor === 9 && patch > 9)));
}

/** The whole standing as the admin routes tell it: what is wrong, and what to do about it. */
export function healthOf(standing: MacStatus): Health {
  const { down, info } = standing;
  if (down !== null) {
    const message = describeDown(down);
    return { status: "unhealthy", message, warnings: [message, ...warningsOf(standing)] };
  }
  if (info === null) return { status: "unknown", message: "The Mac has not answered yet." };
  const troubles = troublesOf(standing);
  const warnings = [...troubles, ...warningsOf(standing)];
  const status = troubles.length > 0 ? "degraded" : "healthy";
  const message =
    troubles[0] ??
    `BlueBubbles ${info.serverVersion ?? "of an unknown version"} on macOS ${info.macosVersion ?? "of an unknown version"}`;
  return warnings.length === 0 ? { status, message } : { status, message, warnings };
}

/** Why nothing can be handed over, and what to do. */
export function describeDown(down: NonNullable<MacStatus["down"]>): string {
  if (down === "privateApiOff") {
    return "The Private API is off: switch it on in BlueBubbles' settings, on a Mac with System Integrity Protection disabled.";
  }
  if (down === "helperGone") {
    return "The helper of the Private API is not connected: open Messages on the Mac, see that its user is logged in at the screen, and restart BlueBubbles.";
  }
  if (down.kind === "answered" && down.status === 401) {
    return "The Mac refuses the password: give this instance the one that BlueBubbles shows in its settings.";
  }
  if (down.kind === "answered" && down.type === null) {
    return `What answers at this address is not BlueBubbles (${down.status}): check the instance's url.`;
  }
  if (down.kind === "answered") return `BlueBubbles is not well: ${describeFailure(down)}. Restart it, or see its log.`;
  return `${capital(describeFailure(down))}. Is it awake, is BlueBubbles running, and does the instance's url still lead to it?`;
}

/** What stops messages although everything answers. */
function troublesOf({ account, info, ownOnImessage, unconfirmed, numbers, suspectedLost }: MacStatus): string[] {
  const troubles: string[] = [];
  const login = account?.loginStatus ?? null;
  if (login !== null && !/^(connected|signed in|online|active)/i.test(login)) {
    troubles.push(
      `Apple's account on the Mac says “${login.slice(0, 100)}”: sign in to iMessage again in Messages' settings.`,
    );
  }
  if (ownOnImessage === false) {
    troubles.push(
      "Apple says that our own address is not on iMessage: sign out of iMessage on the Mac and in again, and see that the address is ticked.",
    );
  }
  if (
    account !== null &&
    account.activeAlias !== null &&
    !isOneOf(numbers, account.activeAlias) &&
    numbers.length > 0
  ) {
    troubles.push(
      `Messages begins conversations from ${maskAddress(account.activeAlias)}, which is no number of this instance: choose the right address under “Start new conversations from”.`,
    );
  }
  for (const address of account === null ? [] : suspectedLost) {
    if (isOneOf(account?.aliases ?? [], address)) continue;
    troubles.push(
      `Apple took ${maskAddress(address)} from the account of this Mac: sign in with it again in Messages.`,
    );
  }
  if (unconfirmed.messages >= UNHEARD_MESSAGES && unconfirmed.forMs >= UNHEARD_MS) {
    const minutes = Math.floor(unconfirmed.forMs / 60_000);
    troubles.push(
      `Messages took ${unconfirmed.messages} messages, and nothing has been heard of any for ${minutes} minutes: look at Messages on the Mac.`,
    );
  }
  const off = Math.abs(info?.clockOffSeconds ?? 0);
  if (off > CLOCK_OFF_SECONDS) {
    troubles.push(`The Mac's clock is off by ${Math.round(off)} seconds: switch on “Set time and date automatically”.`);
  }
  return troubles;
}

/** What is better known before it matters. */
function warningsOf({ info, account }: MacStatus): string[] {
  const warnings: string[] = [];
  const major = macosMajor(info);
  if (major !== null && major >= MACOS_UNPROVEN) {
    warnings.push(
      `macOS ${major} is not proven with BlueBubbles yet: typing, edits and SMS may not work. macOS 14 or 15 is.`,
    );
  }
  const proxy = info?.proxy?.toLowerCase() ?? "";
  if (QUICK_TUNNELS.some((name) => proxy.includes(name))) {
    warnings.push(
      `BlueBubbles publishes itself by ${info?.proxy ?? "a tunnel"}, whose address may change at any start: use its address in your network, a VPN, or a name of your own.`,
    );
  }
  if (account?.smsForwarding === false) warnings.push(NO_FORWARDING);
  return warnings;
}

/** What has to be set up for SMS through a Mac. */
export const NO_FORWARDING =
  "The Mac does not forward SMS: on an iPhone with the same Apple ID, switch the Mac on under Settings, Messages, Text Message Forwarding";

function isOneOf(addresses: readonly string[], alias: string): boolean {
  return addresses.some((address) => plain(address) === plain(alias));
}

/** Aliases come as they are written in settings: with spaces, or with a scheme before them. */
function plain(address: string): string {
  return address
    .toLowerCase()
    .replace(/^(tel|mailto):/, "")
    .replace(/[\s()-]/g, "");
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
