/** The requests that the benchmarks send: `POST /v1/messages` as bytes, with recipients that vary. */

/** `scheduled` messages wait for a day; `queued` ones go through the whole pipeline. */
export type MessageKind = "scheduled" | "queued";

/** The parameters of a load. With `recipients` `one`, every message waits for the previous message. */
export interface MessageMix {
  kind: MessageKind;
  recipients: "many" | "one";
}

const DAY_MS = 86_400_000;
/** Above the sandbox's table: every such number has iMessage and delivers. */
const FIRST_RECIPIENT = 200;
const RECIPIENTS = 9_800;
/** Coprime to the number of recipients, so that neighbours in time are not neighbours in the index. */
const STRIDE = 7_919;

/** The number that message `index` goes to. */
export function recipientOf(index: number, recipients: MessageMix["recipients"]): string {
  const place = recipients === "one" ? 0 : (index * STRIDE) % RECIPIENTS;
  return `+1500555${String(FIRST_RECIPIENT + place).padStart(4, "0")}`;
}

/** The text of message `index`, of usual length. */
export function textOf(index: number): string {
  return `Your order ${index} has left our warehouse and arrives tomorrow between 9 and 12.`;
}

/** The body of message `index`: its text, metadata, and the caller's own identifier. */
export function bodyOf(index: number, mix: MessageMix, externalMessageId: string): string {
  return JSON.stringify({
    to: recipientOf(index, mix.recipients),
    content: { text: textOf(index) },
    externalMessageId,
    metadata: { order: `A-${index}`, campaign: "autumn" },
    ...(mix.kind === "scheduled" ? { scheduledAt: new Date(Date.now() + DAY_MS).toISOString() } : {}),
  });
}

/** A whole request, ready to be written to a socket. */
export function requestOf(key: string, body: string): string {
  return `POST /v1/messages HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}
