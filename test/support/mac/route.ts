/** Parameters and parts that a route of the fake Mac may use, and how it validates a body, like BlueBubbles. */

import type { Clock } from "../../../server/clock.ts";
import type { AttachmentRow, ChatDb } from "./chat-db.ts";
import { type Answer, badRequest, type FileBody } from "./envelope.ts";
import type { Events } from "./events.ts";
import type { Faults } from "./faults.ts";
import type { Outbox } from "./outbox.ts";
import type { Phone } from "./phone.ts";
import type { PrivateApi } from "./private-api.ts";

/** The release of BlueBubbles and of macOS. */
export interface Release {
  version: "1.9.9" | "development";
  macOs: 14 | 15 | 26;
}

/** The parts of a Mac that its routes work with. */
export interface Inside {
  db: ChatDb;
  events: Events;
  faults: Faults;
  privateApi: PrivateApi;
  outbox: Outbox;
  clock: Clock;
  release: Release;
  ownAddress: () => string;
  phone: (address: string) => Phone;
  /** Files that were uploaded, by their path. */
  uploads: Map<string, AttachmentRow>;
  /** Chats in which the Mac's owner is shown typing. */
  typing: Set<string>;
  /** Read marks by the guid of the chat: true if read, false if unread. */
  read: Map<string, boolean>;
  /** Sends under way, by `tempGuid`. */
  queued: Set<string>;
  /** Number of sends by AppleScript. */
  appleScripts: { count: number };
}

export interface ApiRequest {
  /** The decoded parameters of the path, in order. */
  params: readonly string[];
  query: URLSearchParams;
  body: Readonly<Record<string, unknown>>;
  file: { name: string; mimeType: string; bytes: Uint8Array } | null;
}

export type Handler = (
  mac: Inside,
  request: ApiRequest,
) => Answer | FileBody | undefined | Promise<Answer | FileBody | undefined>;

/** A method and a path, in which `:x` stands for one parameter. */
export interface Route {
  method: string;
  path: string;
  handle: Handler;
}

export function required(body: ApiRequest["body"], field: string): string {
  const value = body[field];
  if (typeof value !== "string" || value === "") throw badRequest(`The ${field} field is required.`);
  return value;
}

export function optional(body: ApiRequest["body"], field: string): string | null {
  const value = body[field];
  return typeof value === "string" && value !== "" ? value : null;
}

export function oneOf(body: ApiRequest["body"], field: string, allowed: readonly string[]): string | null {
  const value = body[field];
  if (value === undefined || value === null) return null;
  if (typeof value !== "string" || !allowed.includes(value)) throw badRequest(`The selected ${field} is invalid.`);
  return value;
}

/** A whole number within bounds, or the default if it is missing. */
export function count(
  body: ApiRequest["body"],
  field: string,
  initially: number,
  max = Number.MAX_SAFE_INTEGER,
): number {
  const value = body[field];
  if (value === undefined || value === null) return initially;
  const number = Number(value);
  if (!Number.isFinite(number)) throw badRequest(`The ${field} must be a number.`);
  if (number > max) throw badRequest(`The ${field} may not be greater than ${max}.`);
  return number;
}

/** The names in `with`, from a list or from one string. */
export function names(value: unknown): string[] {
  if (Array.isArray(value)) return value.map(String);
  return typeof value === "string" ? value.split(",") : [];
}

/** The password of a socket, decoded like the real server does; null if decoding throws. */
export function decodedOnceMore(given: string): string | null {
  try {
    return decodeURI(given).trim();
  } catch {
    return null;
  }
}
