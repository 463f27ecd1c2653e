/** Parses the texts of settings. Each returns undefined for a text that is not allowed. Pure. */

import type { RateLimit } from "../sdk/wire.ts";
import { parseDuration } from "./core/duration.ts";
import { withoutTrailing } from "./core/trim-end.ts";

export const SECOND_MS = 1_000;
export const DAY_MS = 86_400_000;
/** Most requests of a rate limit. */
export const REQUESTS_MAX = 1_000_000;
/** Most retries of a schedule. */
export const RETRIES_MAX = 20;

export function wholeNumber(text: string, min: number, max: number): number | undefined {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  return value >= min && value <= max ? value : undefined;
}

export function duration(text: string, minMs: number, maxMs: number): number | undefined {
  const ms = parseDuration(text);
  return ms !== null && ms >= minMs && ms <= maxMs ? ms : undefined;
}

export function schedule(text: string): number[] | undefined {
  const delays = text.split(",").flatMap((part) => duration(part.trim(), 1, 30 * DAY_MS) ?? []);
  return delays.length === text.split(",").length && delays.length <= RETRIES_MAX ? delays : undefined;
}

export function rateLimit(text: string): RateLimit | null | undefined {
  if (text === "off") return null;
  const [requests = "", window = "", ...rest] = text.split("/");
  const limit = wholeNumber(requests, 1, REQUESTS_MAX);
  const windowMs = duration(window, SECOND_MS, DAY_MS);
  if (limit === undefined || windowMs === undefined || windowMs % SECOND_MS !== 0 || rest.length > 0) return undefined;
  return { limit, windowSeconds: windowMs / SECOND_MS };
}

export function publicUrl(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !["http:", "https:"].includes(url.protocol)) return undefined;
  if (`${url.username}${url.password}${url.search}${url.hash}` !== "" || /[?#]/.test(text)) return undefined;
  return withoutTrailing(url.href, "/");
}

/** The text of the URL: its host may also be the directory of a socket, in the parameter `host`. */
export function databaseUrl(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !["postgres:", "postgresql:"].includes(url.protocol)) return undefined;
  const hasHost = url.hostname !== "" || url.searchParams.has("host");
  return hasHost && /^\/[^/]+$/.test(url.pathname) && url.hash === "" ? text : undefined;
}

export function key(text: string): string | undefined {
  return /^tb_[A-Za-z0-9]{32,}$/.test(text) ? text : undefined;
}

/** A key of 32 bytes, written as 64 hexadecimal digits or as base64; undefined for anything else. */
export function parseSecretKey(text: string): Buffer | undefined {
  if (/^[0-9a-fA-F]{64}$/.test(text)) return Buffer.from(text, "hex");
  if (!/^[A-Za-z0-9+/_-]{43}=?$/.test(text)) return undefined;
  return Buffer.from(text, "base64");
}

export function onOrOff(text: string): boolean | undefined {
  return text === "on" ? true : text === "off" ? false : undefined;
}
