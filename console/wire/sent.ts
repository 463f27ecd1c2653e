/** The POST of an attempt as the sandbox's inbox got it. Pure. */

import type { Attempt, Delivery, InboxRequest } from "../../sdk/wire.ts";

/** The attempt that a row is about; the newest one if the row is about the delivery as a whole; null before the first. */
export function attemptOf({ attempts }: Pick<Delivery, "attempts">, at: number): Attempt | null {
  return attempts.find((attempt) => Date.parse(attempt.at) === at) ?? attempts.at(-1) ?? null;
}

/** The request that an attempt made, of those that the inbox got, newest first; null if the inbox has dropped one of them. */
export function receivedOf(
  { attempts }: Pick<Delivery, "attempts">,
  attempt: Attempt | null,
  body: string,
  requests: readonly InboxRequest[],
): InboxRequest | null {
  if (attempt === null) return null;
  const received = requests.filter((request) => request.body === body).toReversed();
  return received.length === attempts.length ? (received[attempts.indexOf(attempt)] ?? null) : null;
}

/** Whether the receiver accepted the event: only a 2xx does. */
export function isAccepted({ status }: Attempt): boolean {
  return status !== null && status >= 200 && status <= 299;
}

/** Bytes of a text in UTF-8. */
export function byteLength(text: string): number {
  return new TextEncoder().encode(text).length;
}
