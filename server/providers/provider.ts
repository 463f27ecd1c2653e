/** What a provider is: something that takes messages for a channel and tells what became of them. */

import type {
  CallStatus,
  Channel,
  Effect,
  Encoding,
  HealthStatus,
  Mention,
  Reaction,
  ReactionCommand,
} from "../../sdk/wire.ts";
import type { Clock } from "../clock.ts";
import type { HookRequest, HookResponse } from "../core/hook.ts";
import type { ChatId, CustomerId, InstanceId, MessageId, PaymentId } from "../core/id.ts";
import type { Phones } from "./phones.ts";

export type { HookRequest, HookResponse };

/** Facts about a provider, not wishes. */
export interface Capabilities {
  channels: readonly Channel[];
  /**
   * Hand-overs at once. Beside them some of messages with files may be under way, and in place of one that takes longer
   * than 40 s another one may begin.
   */
  concurrency: number;
  /**
   * What a hand-over may take at the most, in real milliseconds: then it is called off, and its outcome unknown. No less
   * than whatever its peer may yet do with it needs, so that what could go well is not cut off.
   */
  sendTimeoutMs: number;
  /** How long to wait before `settle` is asked about an unknown outcome, in milliseconds. */
  reconcileAfterMs: number;
  /** Whether it sees the payload of a payment, so that a sentence about one need not count. */
  seesPayments: boolean;
  /** Whether two groups of the same people are one group at the phone, so that a second one must not be made. */
  mergesGroups?: boolean;
  /** Whether a reaction may be any emoji; where it is absent, `react` is given one of the six, or its removal. */
  emojiReactions?: boolean;
}

/** A conversation as a provider is told of it. */
export interface Conversation {
  chatId: ChatId;
  customerId: CustomerId;
  /** The customer's own address. */
  from: string;
  channel: Channel;
  /** The other end of a one-to-one thread; null for a group. */
  contact: string | null;
  /** The provider's own name of a group; null while it has none, and for a one-to-one thread. */
  reference: string | null;
  participants: readonly string[];
}

/** A file as a provider sends it: its bytes were fetched before, and are of this type by their content. */
export interface OutboundAttachment {
  mimeType: string;
  filename: string;
  bytes: Uint8Array;
  isAudioMessage: boolean;
  /** Where a peer that fetches by itself gets it: as its sender named it, or our link; absent where there is neither. */
  url?: string;
}

/** A message as a provider is given it. */
export interface Outbound {
  messageId: MessageId;
  customerId: CustomerId;
  from: string;
  /** The recipient's address; for a group, the id of its chat. */
  to: string;
  /** The group that it goes to; null for one recipient. */
  group: Conversation | null;
  channel: Channel;
  text: string;
  /** Media of `content.mediaUrls`, then attachments. */
  attachments: readonly OutboundAttachment[];
  effect: Effect | null;
  /** The provider's reference of the message that it answers; null where it does not, or the provider does not know it. */
  replyTo: string | null;
  mentions: readonly Mention[];
  /**
   * The part of it that went out by an earlier hand-over: only the rest is to be sent. A provider that knows of such a
   * part by itself sends no more than the rest either.
   */
  sentPart: SentPart | null;
  /** The payment that it asks for. */
  payment: { id: PaymentId; amountCents: number } | null;
  /** 1 for the first hand-over on this channel. */
  attempt: number;
  /** When this hand-over was recorded, by the service's clock. */
  attemptedAt: number;
}

/** A part of a message that went out by itself, under a reference of its own. */
export interface SentPart {
  /** The provider's name of the part. Receipts with this reference are about the part, and say nothing about the rest. */
  reference: string;
  /** What the part is, for the timeline: lower case, with its article, as `the text`. */
  what: string;
}

interface Accepted {
  outcome: "accepted";
  reference: string;
  segments?: number;
  encoding?: Encoding;
  part?: SentPart;
}

/** What became of what was not accepted: see `Outcome`. */
export type NotAccepted =
  | { outcome: "rejected"; code: string; reason: string; notReachable?: boolean }
  | { outcome: "deferred"; retryAfterMs: number | null; reason: string; isDown?: boolean }
  | { outcome: "unknown"; reason: string };

/**
 * What became of a hand-over. `accepted`: with segments and encoding of an SMS as it went out, and with the part that
 * went before the rest, if there is one: `reference` is that of the rest. `rejected`: provably not sent, and of no use to
 * send again; `notReachable`: the recipient is not on the channel. `deferred`: provably not sent, later it may be;
 * `isDown`: nothing can be handed over now, and it keeps its place. `unknown`: it may have been sent. `partly`: `part` was
 * sent, and `rest` is what became of everything else; from then on the message stays with this instance and its peer, is
 * sent by no other channel, and only its rest is ever handed over again. Whoever sent the message reads each `reason`, but
 * that of `isDown`: it names no host, no account and no secret.
 */
export type Outcome = Accepted | { outcome: "partly"; part: SentPart; rest: NotAccepted } | NotAccepted;

/** What became of all of a message that was not accepted before: of one that was sent in part, of its rest. */
export function restOf(outcome: Outcome): Accepted | NotAccepted {
  return outcome.outcome === "partly" ? outcome.rest : outcome;
}

/** A provider's word about a message it took, found by the `reference` of its outcome, or by our id where it knows it. */
export interface ReceiptSignal {
  kind: "receipt";
  reference: string;
  messageId?: MessageId;
  /** The channel it was taken on: a receipt of one that was given up is no word about the next. */
  channel: Channel;
  receipt: "sent" | "delivered" | "read" | "failed";
  /** The provider's own error code, with `failed`. */
  code?: string;
  reason?: string;
  /** With `failed`: the recipient turned out not to be on the channel. */
  notReachable?: boolean;
  /** A key of the instance's memory that this signal ends: it is deleted in the unit of what the signal changes. */
  forget?: string;
}

/** What every signal but a receipt says: at which of our addresses, on which channel, and what to forget with it. */
interface IncomingSignal {
  /** The customer's address that it reached. */
  to: string;
  channel: Channel;
  forget?: string;
}

/** A group as a provider tells of it: one that is not known here becomes a chat. */
export interface GroupSnapshot {
  reference: string;
  name: string | null;
  /** Everybody in it but the customer's own address. */
  participants: readonly string[];
}

/** A file that came with a message: its bytes, or, where `data` is null, the reference to `fetch` them by. */
export interface InboundAttachment {
  reference: string;
  mimeType: string | null;
  filename: string | null;
  totalBytes: number | null;
  data: Uint8Array | null;
}

/** A contact wrote. `reference` is the provider's own name of the message: told again it changes nothing. */
export interface InboundSignal extends IncomingSignal {
  kind: "inbound";
  reference: string;
  from: string;
  /** The group it was written to; null for a one-to-one thread. */
  group: GroupSnapshot | null;
  text: string | null;
  attachments: readonly InboundAttachment[];
  /** The provider's reference of the message that it answers. */
  replyTo: string | null;
  /** The payment that it carries, where the provider sees such payloads. */
  payment: { amountCents: number; currency: "USD"; isRequest: boolean } | null;
  effect: Effect | null;
}

/** A contact reacted to the message that the provider calls `target`, or took that back (`remove`). */
export interface ReactionSignal extends IncomingSignal {
  kind: "reaction";
  reference: string;
  from: string;
  target: string;
  type: Reaction | "remove";
  emoji?: string;
  /** As a phone shows it: `Loved “Hi”`. */
  content: string;
}

/** A contact begins or ends typing. */
export interface TypingSignal extends IncomingSignal {
  kind: "typing";
  from: string;
  group: GroupSnapshot | null;
  typing: boolean;
}

/** A FaceTime call changed. `callUuid` is the provider's own name of it. */
export interface CallSignal extends IncomingSignal {
  kind: "call";
  callUuid: string;
  /** The other end. */
  caller: string;
  isVideo: boolean;
  isOutgoing: boolean;
  status: CallStatus;
}

/** A contact changed (`text`) or took back (null) a message of its own. */
export interface RevisionSignal extends IncomingSignal {
  kind: "revision";
  reference: string;
  text: string | null;
}

/** A contact kept an audio message of ours. */
export interface AudioKeptSignal extends IncomingSignal {
  kind: "audioKept";
  reference: string;
}

/** Something happened to a group. `actor` is who did it, null where that is not known. */
export interface GroupSignal extends IncomingSignal {
  kind: "group";
  /** The provider's own name of what happened: told again it changes nothing. */
  reference: string;
  group: GroupSnapshot;
  change: "participantAdded" | "participantLeft" | "titleChanged" | "photoChanged";
  participant: string | null;
  title: string | null;
  actor: string | null;
}

/** A contact said to the provider itself that it wants no messages from the number `to` any more, or wants them again. */
export interface OptOutSignal extends IncomingSignal {
  kind: "optOut";
  from: string;
  request: "stop" | "start";
  /** What the contact wrote, where that is known. */
  keyword: string | null;
}

export type Signal =
  | ReceiptSignal
  | InboundSignal
  | ReactionSignal
  | TypingSignal
  | CallSignal
  | RevisionSignal
  | AudioKeptSignal
  | GroupSignal
  | OptOutSignal;

/** What came of a signal: `unknown` is a receipt that names no message of this service, or none yet. */
export type Applied = "applied" | "unknown";

/** One of our own addresses that is on the instance. */
export interface OwnAddress {
  address: string;
  customerId: CustomerId;
  isDefault: boolean;
}

export interface Health {
  status: HealthStatus;
  message?: string;
  /** What an operator should do something about, in words. */
  warnings?: readonly string[];
}

/** A message that a command is about, as its provider knows it. */
export interface Target {
  messageId: MessageId;
  reference: string;
  text: string | null;
  /** The conversation it is in. */
  chat: Conversation;
}

/** What became of a command: it was done, or the peer refused it (`reason` in words). A throw counts as refused. */
export type ActionResult = { done: true } | { done: false; reason: string };

/** What a provider knows of an address. Null: it cannot tell. */
export interface Availability {
  imessage: boolean | null;
  facetime: boolean | null;
}

/** Whether a person has notifications silenced, and by which mode, where that is known. */
export interface FocusState {
  focused: boolean;
  focusMode?: string;
}

/**
 * Commands that only some providers have: a missing one is refused with `CHANNEL_NOT_SUPPORTED`. Each is given up with
 * its `abort` signal, and then counts as timed out.
 */
export interface Actions {
  react(target: Target, reaction: ReactionCommand, abort: AbortSignal): Promise<ActionResult>;
  edit(target: Target, text: string, backwardsCompatibilityMessage: string, abort: AbortSignal): Promise<ActionResult>;
  unsend(target: Target, abort: AbortSignal): Promise<ActionResult>;
  markRead(chat: Conversation, abort: AbortSignal): Promise<ActionResult>;
  markUnread(chat: Conversation, abort: AbortSignal): Promise<ActionResult>;
  setTyping(chat: Conversation, typing: boolean, abort: AbortSignal): Promise<ActionResult>;
  /** Makes a group. `reference` null: it comes to be with the first message to it. */
  createGroup(
    group: { customerId: CustomerId; from: string; name: string | null; participants: readonly string[] },
    abort: AbortSignal,
  ): Promise<{ done: true; reference: string | null } | { done: false; reason: string }>;
  renameGroup(chat: Conversation, name: string, abort: AbortSignal): Promise<ActionResult>;
  addParticipant(chat: Conversation, participant: string, abort: AbortSignal): Promise<ActionResult>;
  removeParticipant(chat: Conversation, participant: string, abort: AbortSignal): Promise<ActionResult>;
  leaveGroup(chat: Conversation, abort: AbortSignal): Promise<ActionResult>;
  availability(customerId: CustomerId, address: string, abort: AbortSignal): Promise<Availability>;
  focus(customerId: CustomerId, address: string, abort: AbortSignal): Promise<FocusState>;
  /** The bytes of an inbound attachment; null when the peer no longer has them. */
  fetch(reference: string, abort: AbortSignal): Promise<Uint8Array | null>;
}

/**
 * Small durable key-value of one instance: watermarks, work in progress. `put` makes or replaces; `put` and `delete`
 * resolve when it is on disk.
 */
export interface Memory {
  list(prefix: string): Promise<{ key: string; value: string }[]>;
  put(key: string, value: string): Promise<void>;
  delete(key: string): Promise<void>;
}

/** What a peer did that its operator may want to know: nothing is wrong in this process, so that it is logged as a warning. */
export class PeerFault extends Error {}

/** What an instance of a provider is made from. */
export interface ProviderContext {
  instanceId: InstanceId;
  memory: Memory;
  clock: Clock;
  /** The instance's settings as its administrator gave them, secrets in clear. */
  config: Readonly<Record<string, unknown>>;
  /** The address under which `receive` is reached, without a slash at its end. Nobody can guess it. */
  hookUrl: () => string;
  /** The numbers that are on the instance at present. */
  numbers: () => Promise<readonly OwnAddress[]>;
  /** The numbers whose messages the instance carries: those on it, and those of customers that route SMS to it. */
  senders: () => Promise<readonly OwnAddress[]>;
  /** To be called when `isUp` has changed. */
  changed: () => void;
  /** Puts into the log what an operator may want to know and nobody can be told otherwise. No text, no full number, no secret. */
  fault: (error: unknown) => void;
}

export interface Provider {
  readonly name: string;
  readonly capabilities: Capabilities;
  readonly actions?: Partial<Actions>;
  readonly phones?: Phones;
  /** Whether it can hand over at present, as far as it knows; one that never says is always up. */
  readonly isUp?: boolean;
  /**
   * Begins to connect, and does not wait for a peer that is not there. `signals` resolves when what it was told is on
   * disk; a signal that threw must be told again, and one that is `unknown` may be told again a little later.
   */
  start(signals: (signal: Signal) => Promise<Applied>): Promise<void>;
  /** Never throws for what a peer does; a throw counts as `unknown`. */
  send(message: Outbound, abort: AbortSignal): Promise<Outcome>;
  /** An unknown outcome: ask, never resend blindly. `absent`: provably never taken. */
  reconcile?(message: Outbound): Promise<Outcome | "absent">;
  /** Takes what the peer tells at the instance's hook: verifies, signals, answers once that is on disk. A throw is a 500. */
  receive?(request: HookRequest): Promise<HookResponse>;
  health(): Promise<Health>;
  /**
   * The instance is deleted for good: takes away what was set up at the peer, as far as that is there, and never waits long
   * for it. Comes before `stop`. Throws, in words for an operator, what was left behind.
   */
  remove?(): Promise<void>;
  stop(): Promise<void>;
}
