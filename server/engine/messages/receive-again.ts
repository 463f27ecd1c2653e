/** Receives what a contact's message gained after it was first reported: files, and the text that its row did not have. */

import { ERASED } from "../../core/erasure.ts";
import type { InstanceId } from "../../core/id.ts";
import type { Message } from "../../core/message.ts";
import type { Change } from "../../core/message-lifecycle.ts";
import { addAttachments, edit } from "../../core/message-revision.ts";
import type { InboundSignal } from "../../providers/provider.ts";
import { filesGained } from "../attachments/attach.ts";
import type { BoundedSignal } from "../bounded-signal.ts";
import { change } from "../commit.ts";
import {
  announceAnswer,
  type KeywordDeps,
  type KeywordEffect,
  keywordEffect,
  NO_KEYWORD,
} from "../contacts/keyword.ts";
import { invalidateOptOuts } from "../contacts/opt-outs.ts";
import { changeContext, type With } from "../engine-deps.ts";
import { paidBy } from "../payments/payments.ts";
import { transactionOf } from "./change-message.ts";
import { findByReference } from "./find.ts";

/** Nothing is added to a message later than this after it was received. */
const GROWS_MS = 86_400_000;

type Receiving = KeywordDeps & With<"link" | "signedLinks" | "messageCache" | "optOutCache" | "providers">;

/**
 * Adds what a repeated report of a contact's message has and the message has not; resolves when that is on disk with its events. The
 * text is added as an edit, and may then opt out or pay. Changes nothing in a message of another instance, in one that was deleted or
 * unsent, in one of an erased contact, and after a day.
 */
export async function receiveAgain(
  deps: Receiving,
  instanceId: InstanceId,
  signal: BoundedSignal<InboundSignal>,
): Promise<void> {
  const grown = await change(deps, async () => {
    const message = await findByReference(deps, instanceId, signal.reference);
    const decided = message === null ? null : await gainOf(deps, message, instanceId, signal);
    if (message === null || decided === null) return { transaction: null, value: null };
    const { operations, answer, ...gained } = decided;
    const after = { ...gained.message, version: message.version + 1 };
    return { transaction: transactionOf(message, gained, operations), value: { message: after, operations, answer } };
  });
  if (grown === null) return;
  deps.messageCache.keep(grown.message);
  invalidateOptOuts(deps, grown.operations);
  announceAnswer(deps, grown.answer);
}

type Gain = Change & KeywordEffect;

async function gainOf(
  deps: Receiving,
  before: Message,
  instanceId: InstanceId,
  signal: BoundedSignal<InboundSignal>,
): Promise<Gain | null> {
  const { customerId, id: messageId, deletedAt, createdAt } = before;
  const context = changeContext(deps);
  const isOver = deletedAt !== null || before.status !== "received" || context.now - createdAt > GROWS_MS;
  if (isOver || before.from === ERASED) return null;
  const gain: Gain = { message: before, events: [], ...NO_KEYWORD };
  const files = filesGained(deps, { customerId, messageId, instanceId }, before.attachments, signal.attachments);
  if (files !== null) {
    const { message, events } = addAttachments(before, files.attachments, files.added, context);
    Object.assign(gain, { message, events, operations: files.operations });
  }
  const text = before.text === null && before.editedAt === null && signal.text !== "" ? signal.text : null;
  const said = signal.textTruncated === true ? ({ textTruncated: true } as const) : {};
  const edited = text === null ? null : edit(gain.message, text, context, said);
  if (edited === null) return files === null ? null : gain;
  const also = signal.group === null ? await keywordEffect(deps, edited.message) : NO_KEYWORD;
  const paid = await paidBy(deps, edited.message, signal);
  return {
    message: edited.message,
    events: [...gain.events, ...edited.events],
    operations: [...gain.operations, ...also.operations, ...paid],
    answer: also.answer,
  };
}
