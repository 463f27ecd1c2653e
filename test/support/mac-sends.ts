/** Messages that tests send through a Mac, and readers of their outcomes. */

import assert from "node:assert/strict";
import type {
  Conversation,
  NotAccepted,
  Outbound,
  OutboundAttachment,
  Outcome,
} from "../../server/providers/provider.ts";
import type { Stage } from "./mac-outbound.ts";

/** The engine asks every 15 s, for 5 min. */
export const ASK_EVERY_MS = 15_000;
const ASKED_FOR_MS = 300_000;

/** A picture to send. */
export function file(more: Partial<OutboundAttachment> = {}): OutboundAttachment {
  const bytes = new Uint8Array([137, 80, 78, 71]);
  return { mimeType: "image/png", filename: "cat.png", bytes, isAudioMessage: false, ...more };
}

/** A group of the number that the stages send from. */
export function groupOf(participants: readonly string[], reference: string | null): Conversation {
  const line = { customerId: "cust_1", from: "+15550000001", channel: "imessage" } as const;
  return { ...line, chatId: "chat_1", contact: null, reference, participants };
}

/** Requests that made the Mac do something; queries are left out. */
export function posts({ fake }: Stage): string[] {
  return fake.requests.filter((line) => line.startsWith("POST") && !line.endsWith("/query"));
}

/** Outcome of the files of a message whose text was sent before them. */
export function restOfFiles(outcome: Outcome | "absent"): NotAccepted {
  assert.ok(outcome !== "absent" && outcome.outcome === "partly", JSON.stringify(outcome));
  assert.equal(outcome.part.what, "the text");
  return outcome.rest;
}

/** The reference of an outcome that has to be `accepted`. */
export function reference(outcome: Outcome | "absent"): string {
  assert.ok(outcome !== "absent" && outcome.outcome === "accepted", JSON.stringify(outcome));
  return outcome.reference;
}

/** Asks as the engine does, until the outcome is known. */
export async function reconciled(stage: Stage, message: Outbound): Promise<Outcome | "absent"> {
  const endsAt = stage.clock.now() + ASKED_FOR_MS;
  for (;;) {
    const outcome = await stage.reconcile(message);
    if (outcome === "absent" || outcome.outcome !== "unknown" || stage.clock.now() >= endsAt) return outcome;
    await stage.clock.advance(ASK_EVERY_MS);
    await stage.fake.idle();
  }
}
