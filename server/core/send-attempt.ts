/**
 * The attempt to send a message: its states, the signals that move it, its record, and the notes of its provider. Pure.
 *
 * An attempt begins in the row of its message, on disk before the provider gets the message. It gets a row of its own only
 * once somebody must find it: a receipt by its reference, or its provider by its note. So most messages cost one insert,
 * which is committed with the outcome, and at most one update, which deletes the note with the last receipt.
 *
 * | state      | means                                                       | a row of its own           |
 * |------------|-------------------------------------------------------------|----------------------------|
 * | `open`     | the provider has the message and has not responded          | if the provider noted      |
 * | `unknown`  | the message may have been sent: the provider is asked       | if the provider noted      |
 * | `accepted` | the provider sent it, under `reference`                     | always                     |
 * | `partly`   | a part was sent: the message is bound to the instance       | always, by the part        |
 * | `rejected` | provably not sent: refused, deferred or absent              | if the peer named it       |
 *
 * | provider    | must remember of an attempt                    | where, until when                                       |
 * |-------------|------------------------------------------------|---------------------------------------------------------|
 * | Twilio      | the sid, and since when it is polled           | note, until the last status                             |
 * | sandbox     | the signals that its phone has yet to report   | memory `owed/…`, in the outcome's transaction           |
 * | SMPP        | parts that one id does not name, their states  | note, until every part has ended                        |
 * | BlueBubbles | digest, files, chat and guids of each request  | note, before the request; with the outcome another one, |
 * |             |                                                | until the receipt                                       |
 *
 * The sandbox commits its memory with the outcome and deletes it with the last signal, as a note would be: as a note it would
 * cost each message one entry of an index more.
 */

import type { Channel } from "../../sdk/wire.ts";
import type { InstanceId, MessageId } from "./id.ts";
import type { Message } from "./message.ts";

export const ATTEMPT_STATES = ["open", "accepted", "partly", "rejected", "unknown"] as const;
export type AttemptState = (typeof ATTEMPT_STATES)[number];

/**
 * Signals of an attempt. `note`: its provider notes something. `accept`: the outcome, or a receipt that proves it. `sendPart`:
 * a part went out and the rest did not, or that is unknown. `reject`: a refusal, a deferral or the proof that the provider
 * never got it. `lose`: the outcome is unknown.
 */
export type AttemptSignal = "note" | "accept" | "sendPart" | "reject" | "lose";

/**
 * States × signals. A pair that is not here changes nothing: an attempt that ended keeps its state. Only a receipt corrects
 * an attempt that was given up, and a late response completes one that a receipt proved.
 */
export const ATTEMPT_TRANSITIONS: Readonly<
  Record<AttemptSignal, Readonly<Partial<Record<AttemptState, AttemptState>>>>
> = {
  note: { open: "open", unknown: "unknown", partly: "partly" },
  accept: { open: "accepted", unknown: "accepted", partly: "accepted", rejected: "accepted", accepted: "accepted" },
  sendPart: { open: "partly", unknown: "partly", partly: "partly" },
  reject: { open: "rejected", unknown: "rejected", partly: "partly" },
  lose: { open: "unknown", unknown: "unknown", partly: "partly" },
};

/** The record of an attempt, or of the part that one sent by itself, which somebody must find. */
export interface SendAttempt {
  messageId: MessageId;
  /** 1 for the first attempt of the message, on whatever channel. */
  number: number;
  channel: Channel;
  instanceId: InstanceId;
  state: AttemptState;
  /** The provider's name of what it accepted; before that, and with the same purpose, `openReference`. */
  reference: string;
  startedAt: number;
  /** Null while the attempt is open or its outcome is unknown. */
  endedAt: number | null;
  /** Its provider must remember this: a text that only the provider understands; null if it needs nothing. */
  note: string | null;
}

/** The state that an attempt came to, and the reference and note that its provider gave with it. */
export interface AttemptResult {
  state: AttemptState;
  reference?: string;
  note?: string | undefined;
}

/** Number of the present attempt, or of the one at `attemptedAt`: how many of the message began until then, on all channels. */
export function attemptNumber({ timeline }: Pick<Message, "timeline">, attemptedAt = Number.POSITIVE_INFINITY): number {
  return timeline.filter((entry) => beginsAttempt(entry) && entry.at <= attemptedAt).length;
}

/** When the present attempt was recorded; without one, when the message last changed. */
export function attemptedAt({ timeline, updatedAt }: Pick<Message, "timeline" | "updatedAt">): number {
  return timeline.findLast(beginsAttempt)?.at ?? updatedAt;
}

/** Every later entry of an attempt has a reason. */
function beginsAttempt({ status, reason }: Message["timeline"][number]): boolean {
  return status === "pending" && reason === undefined;
}

/** Begins the reason that a restore notes. */
export const RESTORED = "restored: ";

/**
 * Whether the message's present attempt is as old as a backup that was restored: it may have ended since, and others may have
 * followed it. Then no record of it proves anything, and the message does not fall back by itself.
 */
export function isRestored({ timeline }: Pick<Message, "timeline">): boolean {
  const begun = timeline.findLastIndex(beginsAttempt);
  return timeline.slice(begun + 1).some(({ reason }) => reason?.startsWith(RESTORED) === true);
}

/** The state of the message's present attempt, as its row says it. */
function stateOf({ status, unknownSince, sentPart }: Message): AttemptState {
  if (status === "failed" || status === "queued") return "rejected";
  if (status !== "pending") return "accepted";
  if (sentPart !== null) return "partly";
  return unknownSince === null ? "open" : "unknown";
}

/** The state of the message's present attempt after `signal`; null if the attempt has ended. */
export function attemptAfter(message: Message, signal: AttemptSignal): AttemptState | null {
  return ATTEMPT_TRANSITIONS[signal][stateOf(message)] ?? null;
}

/** The reference of an attempt that its provider has not named yet: of the present one, or of the one at `attemptedAt`. */
export function openReference(message: Pick<Message, "id" | "timeline">, attemptedAt?: number): string {
  return `${OPEN}${message.id}/${attemptNumber(message, attemptedAt)}`;
}

/** No provider's reference begins like this. */
const OPEN = "attempt:";

/** Whether the provider has not named the attempt yet. */
function isUnnamed({ reference }: Pick<SendAttempt, "reference">): boolean {
  return reference.startsWith(OPEN);
}

/** The record of the message's present attempt. */
export function recordAttempt(message: Message, { state, reference, note }: AttemptResult, now: number): SendAttempt {
  const { id: messageId, channel, instanceId } = message;
  return {
    messageId,
    number: attemptNumber(message),
    channel,
    instanceId,
    state,
    reference: reference ?? openReference(message),
    startedAt: attemptedAt(message),
    endedAt: state === "open" || state === "unknown" ? null : now,
    note: note ?? null,
  };
}

/** A note for the attempt with this reference; null deletes the note. */
export interface NewNote {
  reference: string;
  text: string | null;
}

/** An attempt as its provider finds it again. */
export interface NotedAttempt extends Pick<SendAttempt, "messageId" | "channel"> {
  /** Null if the provider did not name it. */
  reference: string | null;
  /** `Outbound.attemptedAt`. */
  attemptedAt: number;
  note: string;
}

/** The attempt as its provider noted it; null without a note. */
export function notedAttempt(attempt: SendAttempt): NotedAttempt | null {
  const { messageId, channel, reference, startedAt, note } = attempt;
  if (note === null) return null;
  return { messageId, channel, reference: isUnnamed(attempt) ? null : reference, attemptedAt: startedAt, note };
}

/** Names an attempt of an instance: see `Outbound`. */
export type AttemptName = Pick<NotedAttempt, "messageId" | "attemptedAt">;

/** The attempt has ended, or it is not the message's present one: its provider must make no further request for it. */
export class AttemptEnded extends Error {}

/** The send attempts of one instance, on disk. */
export interface SendAttempts {
  /** Attempts with a note, in the order in which they began. */
  noted(): Promise<readonly NotedAttempt[]>;
  /** Notes something about an attempt, in place of the note before. Resolves once it is on disk. Throws `AttemptEnded`. */
  note(attempt: AttemptName, text: string): Promise<void>;
  /**
   * Replaces the note of an attempt that has ended: one that was accepted under `reference`, or one that was given up with an
   * unknown outcome. Resolves once that is on disk.
   */
  change(attempt: AttemptName & { reference: string }, text: string | null): Promise<void>;
  /**
   * Ends an attempt that was given up with an unknown outcome, once its provider needs the note no longer. `refused`: the
   * peer's name of what it refused, for `known`. Resolves once that is on disk.
   */
  end(attempt: AttemptName, refused?: string): Promise<void>;
  /** Which of these references name what was sent of our messages, what came in, or what the peer refused. */
  known(references: readonly string[]): Promise<ReadonlySet<string>>;
}
