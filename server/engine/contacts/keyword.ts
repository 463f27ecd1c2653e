/** Reads the keyword in a contact's message: it changes the opt-out list, or asks for help, and the service may answer. */

import { createHash } from "node:crypto";
import type { Channel, OptOutSettings } from "../../../sdk/wire.ts";
import type { InstanceId } from "../../core/id.ts";
import { type Message, NEW_MESSAGE, pairOf } from "../../core/message.ts";
import { NO_FILES } from "../../core/message-files.ts";
import { begin } from "../../core/message-lifecycle.ts";
import { SERVICE_TIME_TO_LIVE_MS } from "../../core/message-routing.ts";
import { asksForHelp, keywordOf } from "../../core/opt-out.ts";
import { chosenWords } from "../../core/opt-out-settings.ts";
import { phoneKey } from "../../core/phone-forms.ts";
import { answerTo, CHANNEL_NAMES } from "../../core/routing.ts";
import { entriesAhead } from "../../core/timeline.ts";
import { findArrival } from "../../store/arrivals.ts";
import type { Operation } from "../../store/store.ts";
import { changeContext, type With } from "../engine-deps.ts";
import { offered, planOf } from "../routing/route.ts";
import { type OptOutCause, optInOperations, optOutOperations, optOutSettings } from "./opt-out-change.ts";

/** The consequences of an inbound message. `answer`: the message that the service sends back; null if there is none. */
export interface KeywordEffect {
  operations: Operation[];
  answer: Message | null;
}

/** The effect of a message without a keyword. */
export const NO_KEYWORD: KeywordEffect = { operations: [], answer: null };

export type KeywordDeps = With<"configCache" | "link" | "providers">;

/**
 * The effect of an inbound message, on any channel:
 *
 * | The text | The list | The answer |
 * |---|---|---|
 * | ends messages | gets a record, if none holds | `confirmation`, with a new record |
 * | begins them again | loses the records that hold | none |
 * | asks for help | | `help`, once per contact and hour |
 * | any other | | none |
 *
 * A provider that answers by itself gets none, nor does a text by RCS to a number without SMS. The operations belong in the message's transaction; call `invalidateOptOuts` after the
 * commit. Only for one-to-one threads: a message in a group is addressed to everybody in it.
 */
export async function keywordEffect(deps: KeywordDeps, message: Message): Promise<KeywordEffect> {
  const { customerId, from: contact, to: number, channel, correlationId } = message;
  const settings = await optOutSettings(deps, customerId);
  const keyword = keywordOf(message.text, chosenWords(settings));
  if (keyword === null) return asksForHelp(message.text) ? help(deps, message, settings) : NO_KEYWORD;
  const cause: OptOutCause = { source: "keyword", keyword: keyword.word, reason: null, channel, correlationId };
  const place = { customerId, number, contact };
  if (keyword.intent === "start") {
    const { operations } = await optInOperations(deps, place, cause);
    return { operations, answer: null };
  }
  const { operations } = await optOutOperations(deps, place, cause);
  return operations.length === 0 ? NO_KEYWORD : answered(deps, message, settings.confirmation, operations);
}

/** The least time between two answers to `HELP` for one contact. */
const HELP_EVERY_MS = 3_600_000;

async function help(deps: KeywordDeps, message: Message, settings: OptOutSettings): Promise<KeywordEffect> {
  const { customerId: scope, from } = message;
  if (settings.help === null) return NO_KEYWORD;
  // The contact may write to several numbers of the customer: the mark is kept with one of them.
  const [first] = await deps.configCache.numbers(scope);
  const instanceId = first?.instanceId ?? message.instanceId;
  const reference = `help ${createHash("sha256")
    .update(`${scope} ${phoneKey(from)}`)
    .digest("hex")}`;
  const createdAt = deps.clock.now();
  const before = await findArrival(deps.store.db, instanceId, reference);
  // After a reset of the sandbox's clock the last answer may lie in the future.
  if (before !== null && before <= createdAt && createdAt - before < HELP_EVERY_MS) return NO_KEYWORD;
  const where = { instanceId, reference };
  return answered(deps, message, settings.help, [
    before === null
      ? { op: "requireNone", table: "arrivals", where, scope }
      : { op: "require", table: "arrivals", where: { ...where, createdAt: before }, scope },
    { op: "put", table: "arrivals", record: { ...where, createdAt } },
  ]);
}

/** The instance that the message came to if it sends on `channel`, else the first of the plan that does; null if none does. */
async function instanceToAnswer(
  deps: KeywordDeps,
  { customerId, instanceId, from, to }: Message,
  channel: Channel,
): Promise<InstanceId | null> {
  const instance = await deps.configCache.instance(instanceId);
  if (instance !== null && offered(deps, { instanceId, provider: instance.provider }).includes(channel))
    return instanceId;
  const plan = await planOf(deps, { ...NO_FILES, customerId, from: to, to: from, instanceId });
  return plan.on(channel)[0]?.instanceId ?? null;
}

/** Has the answer sent, after its commit. */
export function announceAnswer(deps: With<"messageCache">, answer: Message | null): void {
  if (answer === null) return;
  deps.messageCache.keep(answer);
  deps.observer.accepted();
  deps.wake.messages([answer.instanceId], pairOf(answer));
}

/**
 * The operations, with those of an answer `text` from the number and on the channel that the message came to, or by SMS where it came by
 * RCS. There is none if nothing sends from the number on that channel.
 */
async function answered(
  deps: KeywordDeps,
  message: Message,
  text: string | null,
  operations: Operation[],
): Promise<KeywordEffect> {
  if (text === null || deps.providers.get(message.instanceId)?.capabilities.answersKeywords === true) {
    return { operations, answer: null };
  }
  const { customerId, from, to, chatId, correlationId } = message;
  const channel = answerTo(message.channel);
  const instanceId = await instanceToAnswer(deps, message, channel);
  if (instanceId === null) return { operations, answer: null };
  const context = changeContext(deps);
  const { message: begun, events } = begin(
    {
      ...NEW_MESSAGE,
      id: deps.newId("msg"),
      customerId,
      keyId: null,
      origin: "service",
      from: to,
      to: from,
      channel,
      channelsLeft: [],
      fallback: false,
      fallbackAfterMs: null,
      text,
      chatId,
      correlationId,
      instanceId,
      scheduledAt: null,
      dueAt: context.now,
      expiresAt: context.now + SERVICE_TIME_TO_LIVE_MS,
      createdAt: context.now,
      updatedAt: context.now,
    },
    `${CHANNEL_NAMES[channel]}, as the message that it answers`,
    context,
  );
  const answer = entriesAhead(begun, 0, deps.clock.aheadMs());
  const sent: Operation[] = [
    { op: "insert", table: "messages", record: answer },
    ...events.map((event): Operation => ({ op: "event", event, callbackUrl: null })),
  ];
  return { operations: [...operations, ...sent], answer };
}
