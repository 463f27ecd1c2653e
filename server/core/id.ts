/** Identifiers: a prefix that names the kind of record, and a UUIDv7, so that ids sort by creation. */

import { hash } from "node:crypto";
import { memoized } from "./bounded-map.ts";

export type MessageId = `msg_${string}`;
export type EventId = `evt_${string}`;
export type EndpointId = `wh_${string}`;
export type DeliveryId = `dlv_${string}`;
export type KeyId = `key_${string}`;
export type CustomerId = `cust_${string}`;
export type NumberId = `num_${string}`;
export type InstanceId = `inst_${string}`;
export type ChatId = `chat_${string}`;
export type ContactId = `con_${string}`;
export type PaymentId = `pay_${string}`;
export type CallId = `call_${string}`;
export type AttachmentId = `att_${string}`;
export type SessionId = `ses_${string}`;
export type ReplayId = `rpl_${string}`;

/** Returns `size` random bytes. It is always an argument, so that a simulation can repeat its runs. */
export type Random = (size: number) => Uint8Array;

/** Creates the id of a new record: `newId("msg")`. */
export type NewId = <Prefix extends string>(prefix: Prefix) => `${Prefix}_${string}`;

/**
 * Creates ids with the real time `realNow()` (epoch milliseconds). Its ids sort in the order of their creation, also
 * within a millisecond: the 12 bits after the time are a counter (RFC 9562, 6.2 method 1).
 */
export function createIdSource(realNow: () => number, random: Random): NewId {
  let lastMs = 0;
  let count = 0;
  return (prefix) => {
    const bytes = random(16);
    const nowMs = realNow();
    count += 1;
    if (nowMs > lastMs || count > COUNT_MAX) {
      lastMs = Math.max(nowMs, lastMs + 1);
      count = ((bytes[6] ?? 0) & 0x07) * 256 + (bytes[7] ?? 0);
    }
    return `${prefix}_${formatUuid(lastMs, count, bytes)}`;
  };
}

const COUNT_MAX = 0xfff;

/** A UUID of version 7 with the time `atMs` and a hash of `parts`: the same input gives the same id. */
export function hashedId<Prefix extends string>(
  prefix: Prefix,
  atMs: number,
  ...parts: string[]
): `${Prefix}_${string}` {
  const digest = hash("sha256", parts.join("\n"), "buffer");
  const count = ((digest[0] ?? 0) & 0x0f) * 256 + (digest[1] ?? 0);
  return `${prefix}_${formatUuid(atMs, count, digest.subarray(0, 16))}`;
}

/** Targets whose digests are kept. */
const TARGETS_KEPT_MAX = 10_000;

/** 16, 24 and 24 bits of a hash of a target. */
const digestOf = memoized(TARGETS_KEPT_MAX, (target: string): readonly number[] => {
  const bytes = hash("sha256", target, "buffer");
  return [bytes.readUIntBE(0, 2), bytes.readUIntBE(2, 3), bytes.readUIntBE(5, 3)];
});

/**
 * The id of what the record `id` makes for a target: the time and count of the record's id, so that it is found by that, and the
 * random part mixed with a hash of the target. The same input gives the same id, another target another one.
 */
export function idBeside<Prefix extends string>(prefix: Prefix, id: string, target: string): `${Prefix}_${string}` {
  const uuid = id.slice(id.indexOf("_") + 1);
  const [high = 0, middle = 0, low = 0] = digestOf(target);
  const mixed = (from: number, to: number, bits: number) => Number.parseInt(uuid.slice(from, to), 16) ^ bits;
  const head = (0x8000 | (mixed(19, 23, high) & 0x3fff)).toString(16);
  const tail = [mixed(24, 30, middle), mixed(30, 36, low)].map((part) => part.toString(16).padStart(6, "0"));
  return `${prefix}_${uuid.slice(0, 18)}-${head}-${tail.join("")}`;
}

/** The real time at which an id was created, epoch milliseconds. */
export function timeOfId(id: string): number {
  const uuid = id.slice(id.indexOf("_") + 1);
  return Number.parseInt(uuid.slice(0, 8) + uuid.slice(9, 13), 16);
}

/** The smallest possible id of a kind created at `atMs`: every smaller id is older. */
export function firstIdAt(prefix: string, atMs: number): string {
  const time = Math.max(0, atMs).toString(16).padStart(12, "0");
  return `${prefix}_${time.slice(0, 8)}-${time.slice(8)}-7`;
}

/** A correlation id, shared by everything that one request or signal causes: `cor_` and 32 hex digits. */
export function newCorrelationId(random: Random): string {
  return `cor_${Buffer.from(random(16)).toString("hex")}`;
}

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

/** The millisecond that was formatted last: ids of one request are often of the same one. */
let lastTime = { at: Number.NaN, text: "" };

function formatTime(atMs: number): string {
  if (atMs !== lastTime.at) {
    const time = atMs.toString(16).padStart(12, "0");
    lastTime = { at: atMs, text: `${time.slice(0, 8)}-${time.slice(8)}` };
  }
  return lastTime.text;
}

function formatUuid(atMs: number, count: number, random: Uint8Array): string {
  const variant = 0x80 | ((random[8] ?? 0) & 0x3f);
  let tail = "";
  for (let index = 10; index < 16; index += 1) tail += HEX[random[index] ?? 0];
  const version = 0x70 | (count >> 8);
  return `${formatTime(atMs)}-${HEX[version]}${HEX[count & 0xff]}-${HEX[variant]}${HEX[random[9] ?? 0]}-${tail}`;
}
