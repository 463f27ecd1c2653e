/** Accepts messages: each is committed with its first event before anybody is told that it was accepted. */

import type { AcceptedCarousel, AcceptedMessage, SendCarousel, SendMessage } from "../../../sdk/wire.ts";
import { isGroupId } from "../../core/chat.ts";
import type { CustomerId, KeyId, MessageId } from "../../core/id.ts";
import type { Message } from "../../core/message.ts";
import { acceptedCarouselRecord, acceptedRecord } from "../../core/message-record.ts";
import { type Understood, understandCarousel, understandMessage, type Wanted } from "../../core/new-message.ts";
import { duplicateThread, retryDuplicateThread } from "../chats/threads.ts";
import { ensureContact } from "../contacts/contacts.ts";
import type { Deps } from "../deps.ts";
import { idempotent } from "../idempotency.ts";
import { reread } from "./change-message.ts";
import { type Draft, draft } from "./draft.ts";
import { DEFAULT_PREFERENCE } from "./recipient.ts";

/** A request to send, and on whose behalf. */
export interface Sending<Body = SendMessage> {
  customerId: CustomerId;
  keyId: KeyId;
  correlationId: string;
  idempotencyKey: string | null;
  body: Body;
}

/** What was accepted; `repeated` when an earlier request with the same idempotency key had done it. */
export interface Accepted<Record_ = AcceptedMessage> {
  repeated: boolean;
  record: Record_;
}

/**
 * Accepts a message. When it resolves, message and event are on disk. Throws an `ApiError` for what is refused; a repeat of an
 * idempotency key answers the first message as it now is.
 */
export async function accept(deps: Deps, sending: Sending): Promise<Accepted> {
  const understood = understandMessage(sending.body);
  const { repeated, message } = await acceptOnce(deps, "POST /v1/messages", sending, understood);
  return { repeated, record: acceptedRecord(message) };
}

/** Accepts a carousel, as `accept` does a message. */
export async function acceptCarousel(deps: Deps, sending: Sending<SendCarousel>): Promise<Accepted<AcceptedCarousel>> {
  const understood = understandCarousel(sending.body);
  const { repeated, message } = await acceptOnce(deps, "POST /v1/messages/carousel", sending, understood);
  return { repeated, record: acceptedCarouselRecord(message) };
}

async function acceptOnce(
  deps: Deps,
  route: string,
  sending: Sending<unknown>,
  { wanted, spelling }: Understood,
): Promise<{ repeated: boolean; message: Message }> {
  const { customerId, keyId, correlationId, idempotencyKey: key } = sending;
  const command = { key, customerId, route, body: withDefaults(wanted) };
  const work = async () => {
    const drafted = await draft(deps, { customerId, keyId, correlationId, wanted, spelling });
    if (wanted.createContact === true) await addContact(deps, drafted);
    return { unit: drafted.operations, value: drafted, result: drafted.message.id };
  };
  const commanded = await retryDuplicateThread(() => idempotent(deps, command, work, duplicateThread));
  if (!commanded.repeated) {
    commanded.value.committed();
    return { repeated: false, message: commanded.value.message };
  }
  return { repeated: true, message: await reread(deps, commanded.result as MessageId) };
}

/** What is wanted as it counts for idempotency: with the defaults that routing has. */
function withDefaults(wanted: Wanted): unknown {
  return { ...wanted, routing: { preference: DEFAULT_PREFERENCE, fallback: true, ...wanted.routing } };
}

/** A group is no contact. */
async function addContact(deps: Deps, { message }: Draft): Promise<void> {
  if (!isGroupId(message.to)) await ensureContact(deps, message.customerId, message.to);
}
