/** The interface of a provider, which sends messages on a channel, and reports receipts and all that contacts do. */

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
import type { AddressLookups } from "../core/address-lookups.ts";
import type { InboundAttachment } from "../core/attachment.ts";
import type { Capabilities } from "../core/capabilities.ts";
import type { Availability, FocusState } from "../core/contact-state.ts";
import type { GroupSnapshot } from "../core/group.ts";
import type { HookRequest, HookResponse } from "../core/hook.ts";
import type { ChatId, CustomerId, InstanceId, MessageId, PaymentId } from "../core/id.ts";
import type { Memory } from "../core/memory.ts";
import type { SentPart } from "../core/message.ts";
import type { NewNote, SendAttempts } from "../core/send-attempt.ts";
import type { Phones } from "./phones.ts";

export type { Availability, Capabilities, FocusState, HookRequest, HookResponse, Memory, SendAttempts, SentPart };

/** A chat, as the engine describes it to a provider. */
export interface Conversation {
  chatId: ChatId;
  customerId: CustomerId;
  from: string;
  channel: Channel;
  /** The contact of a one-to-one thread; null for a group. */
  contact: string | null;
  /** The provider's reference of a group. Null while there is none, and for a one-to-one thread. */
  reference: string | null;
  participants: readonly string[];
}

/** A file to send. The engine has fetched the bytes, and found the type from their content. */
export interface OutboundAttachment {
  mimeType: string;
  filename: string;
  bytes: Uint8Array;
  isAudioMessage: boolean;
  /** An address from which the peer can fetch the file: the customer's URL or our link. Absent if there is neither. */
  url?: string;
}

/** A message for a provider to send. */
export interface Outbound {
  messageId: MessageId;
  customerId: CustomerId;
  from: string;
  /** The recipient's address; for a group, the id of its chat. */
  to: string;
  /** Null for a message to one recipient. */
  group: Conversation | null;
  channel: Channel;
  text: string;
  /** The files of `content.mediaUrls`, then the attachments. */
  attachments: readonly OutboundAttachment[];
  effect: Effect | null;
  /** The provider's reference of the message that this one replies to; null if there is none, or none is known. */
  replyTo: string | null;
  mentions: readonly Mention[];
  /**
   * The part that an earlier attempt sent: the provider sends only the rest. A provider that remembers such a part by
   * itself sends no more than the rest either.
   */
  sentPart: SentPart | null;
  /** The payment that the message requests. */
  payment: { id: PaymentId; amountCents: number } | null;
  /** 1 for the first send attempt on this channel. */
  attempt: number;
  /** When this send attempt was recorded, by the service's clock. */
  attemptedAt: number;
  /**
   * In a lookup: the database was restored from a backup of that time, so the provider may have sent the message at any time
   * since, and it proves nothing that the provider has no record of that.
   */
  unrecorded?: true;
}

/**
 * Entries of a provider's memory about an attempt, committed with its outcome: only for a provider that accepts a
 * message by storing it. `stored` is called once the outcome is on disk; before that the provider reports nothing of
 * the message.
 */
export interface OutcomeMemory {
  entries: readonly { key: string; value: string }[];
  stored(): void;
}

/**
 * The note about an attempt, committed with its outcome in place of the note before. The engine asks for it as it commits, so
 * that receipts count that came first; undefined if nothing is left to remember.
 */
export type OutcomeNote = () => string | undefined;

interface AcceptedOutcome {
  outcome: "accepted";
  reference: string;
  memory?: OutcomeMemory;
  note?: OutcomeNote;
  segments?: number;
  encoding?: Encoding;
  part?: NotedPart;
}

/** A part that was sent by itself, with the provider's note about it, which is committed with the part. */
export interface NotedPart extends SentPart {
  note?: () => string | undefined;
}

/** An outcome of a message that the provider did not accept: see `Outcome`. */
export type NotAccepted =
  | { outcome: "rejected"; code: string; reason: string; notReachable?: boolean; reference?: string }
  | { outcome: "deferred"; retryAfterMs: number | null; reason: string; isDown?: boolean }
  | { outcome: "unknown"; reason: string; memory?: OutcomeMemory; note?: OutcomeNote };

/**
 * The outcome of a send attempt. `accepted`: sent; if a part went out first, `reference` is that of the rest.
 * `rejected`: provably not sent, for good; `notReachable`: the recipient is not on the channel; `reference`: the peer's
 * name of what it refused, for `SendAttempts.known`. `deferred`: provably
 * not sent, and may work later; `isDown`: the instance can send nothing now, and the message keeps its place.
 * `unknown`: it may have been sent. `partly`: `part` was sent, and `rest` is the outcome of everything else; the
 * message then stays with this instance and its account, never falls back, and only its rest is sent again. The
 * customer reads every `reason` but that of `isDown`: it names no host, no account and no secret.
 */
export type Outcome = AcceptedOutcome | { outcome: "partly"; part: NotedPart; rest: NotAccepted } | NotAccepted;

/** The outcome of the whole message or, if a part was sent, of its rest. */
export function outcomeOfRest(outcome: Outcome): AcceptedOutcome | NotAccepted {
  return outcome.outcome === "partly" ? outcome.rest : outcome;
}

/** A report about an accepted message, which the engine finds by its `reference`, or by our id if the provider knows it. */
export interface ReceiptSignal {
  kind: "receipt";
  reference: string;
  messageId?: MessageId;
  /** The channel that accepted the message. A receipt says nothing about the next channel. */
  channel: Channel;
  receipt: "sent" | "delivered" | "read" | "failed";
  /** With `failed`: the provider's own error code. */
  code?: string;
  reason?: string;
  /** With `failed`: the recipient is not on the channel after all. */
  notReachable?: boolean;
  /** A key of the instance's memory to delete in the transaction that applies the signal. */
  forget?: string;
  /** Replaces the note of the attempt with this reference in the transaction that applies the signal. */
  note?: NewNote;
}

/** Fields of every signal except a receipt. */
interface IncomingSignal {
  /** The customer's address that the signal is for. */
  to: string;
  channel: Channel;
  forget?: string;
  note?: NewNote;
}

/**
 * A contact wrote a message. `reference` is the provider's own: the same one again changes nothing, unless the message `grows`. Then
 * a repeat from the same instance within a day adds the files that the message did not have, and the text if it had none.
 */
export interface InboundSignal extends IncomingSignal {
  kind: "inbound";
  reference: string;
  from: string;
  /** The group that the message was written to; null for a one-to-one thread. */
  group: GroupSnapshot | null;
  text: string | null;
  attachments: readonly InboundAttachment[];
  /** The provider may report the message before it has all of its files and its text. */
  grows?: true;
  /** The provider's reference of the message that this one replies to. */
  replyTo: string | null;
  /** The payment in the message, if the provider sees such payloads. */
  payment: { amountCents: number; currency: "USD"; isRequest: boolean } | null;
  effect: Effect | null;
}

/**
 * A message that a person wrote in the peer's own program, under the number `to`, and no request sent. `unknown` in response to it:
 * a send attempt to that chat has no outcome yet, which may explain the message. The provider reports it again later.
 */
export interface WrittenSignal extends Omit<InboundSignal, "kind" | "from" | "grows" | "payment"> {
  kind: "written";
  /** The recipient; null for a group. */
  contact: string | null;
  /** When it was written, by the service's real clock; earlier rather than later where the peer's clock is off. */
  writtenAt: number;
}

/** A contact reacted to the message with the reference `target`, or removed the reaction (`remove`). */
export interface ReactionSignal extends IncomingSignal {
  kind: "reaction";
  reference: string;
  from: string;
  target: string;
  type: Reaction | "emoji" | "remove";
  /** The emoji, only with the type `emoji`; absent if the provider does not say which. */
  emoji?: string;
  /** The reaction as a phone shows it: `Loved “Hi”`. */
  content: string;
}

/** A contact begins or ends typing. */
export interface TypingSignal extends IncomingSignal {
  kind: "typing";
  from: string;
  group: GroupSnapshot | null;
  typing: boolean;
}

/** A FaceTime call changed. `callUuid` is the provider's own id of the call. */
export interface CallSignal extends IncomingSignal {
  kind: "call";
  callUuid: string;
  /** The contact. */
  caller: string;
  isVideo: boolean;
  isOutgoing: boolean;
  status: CallStatus;
}

/** A contact edited (`text`) or unsent (null) a message. */
export interface RevisionSignal extends IncomingSignal {
  kind: "revision";
  reference: string;
  text: string | null;
}

/** A contact kept one of our audio messages. */
export interface AudioKeptSignal extends IncomingSignal {
  kind: "audioKept";
  reference: string;
}

/** A group changed. `actor` made the change; null if the provider does not know who did. */
export interface GroupSignal extends IncomingSignal {
  kind: "group";
  /** The provider's own reference of the change: the same reference again changes nothing. */
  reference: string;
  group: GroupSnapshot;
  change: "participantAdded" | "participantLeft" | "titleChanged" | "photoChanged";
  participant: string | null;
  title: string | null;
  actor: string | null;
}

/** A contact told the provider itself to stop messages from the number `to`, or to start them again. */
export interface OptOutSignal extends IncomingSignal {
  kind: "optOut";
  from: string;
  request: "stop" | "start";
  /** The contact's own words, if known. */
  keyword: string | null;
}

export type Signal =
  | ReceiptSignal
  | InboundSignal
  | WrittenSignal
  | ReactionSignal
  | TypingSignal
  | CallSignal
  | RevisionSignal
  | AudioKeptSignal
  | GroupSignal
  | OptOutSignal;

/** How the engine applied a signal. `unknown`: a receipt for a message that the service does not know, or not yet; see also `WrittenSignal`. */
export type Applied = "applied" | "unknown";

/** A customer's address on the instance. */
export interface OwnAddress {
  address: string;
  customerId: CustomerId;
  isDefault: boolean;
}

export interface Health {
  status: HealthStatus;
  message?: string;
  /** Sentences about what the operator should fix. */
  warnings?: readonly string[];
}

/** A message that an action is about, with the provider's reference. */
export interface ActionTarget {
  messageId: MessageId;
  reference: string;
  text: string | null;
  chat: Conversation;
}

/** The result of an action. If the peer refused it, `reason` says why; a throw counts as refused. */
export type ActionResult = { done: true } | { done: false; reason: string };

/**
 * Actions that only some providers have. A request for a missing one is refused with `CHANNEL_NOT_SUPPORTED`. The
 * engine aborts an action that takes too long by its `abort` signal, and then counts it as timed out.
 */
export interface Actions {
  react(target: ActionTarget, reaction: ReactionCommand, abort: AbortSignal): Promise<ActionResult>;
  edit(
    target: ActionTarget,
    text: string,
    backwardsCompatibilityMessage: string,
    abort: AbortSignal,
  ): Promise<ActionResult>;
  unsend(target: ActionTarget, abort: AbortSignal): Promise<ActionResult>;
  markRead(chat: Conversation, abort: AbortSignal): Promise<ActionResult>;
  markUnread(chat: Conversation, abort: AbortSignal): Promise<ActionResult>;
  setTyping(chat: Conversation, typing: boolean, abort: AbortSignal): Promise<ActionResult>;
  /** Creates a group. `reference` null: the group is created with the first message to it. */
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
  /** The bytes of an inbound attachment; null if the peer no longer has them. */
  fetch(reference: string, abort: AbortSignal): Promise<Uint8Array | null>;
}

/** A fault of the peer for the operator's log: a warning, since nothing is wrong in this process. */
export class PeerFault extends Error {}

/** The surroundings of one instance of a provider. */
export interface ProviderContext extends AddressLookups {
  instanceId: InstanceId;
  memory: Memory;
  attempts: SendAttempts;
  clock: Clock;
  /** The instance's settings as the operator gave them, secrets in clear. */
  config: Readonly<Record<string, unknown>>;
  /** The address that calls `receive`, without a trailing slash. It contains a secret. */
  hookUrl: () => string;
  /** The numbers of the instance at present. */
  numbers: () => Promise<readonly OwnAddress[]>;
  /** Numbers that the instance sends for: its own, and those of customers that route SMS to it. */
  senders: () => Promise<readonly OwnAddress[]>;
  /** Whether this process still owns the instance: to be asked at once before bytes that send something go to the peer. */
  mayWrite: () => boolean;
  /** The provider calls this when `isUp` has changed. */
  changed: () => void;
  /** The provider calls this when its peer has sent an event, and not when the provider found something by asking. */
  eventReceived: () => void;
  /** Logs a fault for the operator. Must contain no text, no full number and no secret. */
  fault: (error: unknown) => void;
}

export interface Provider {
  readonly name: string;
  readonly capabilities: Capabilities;
  readonly actions?: Partial<Actions>;
  readonly phones?: Phones;
  /** Whether the provider can send at present. A provider without this property is always up. */
  readonly isUp?: boolean;
  /** Whether messages given to the provider wait for a rate limit of the account: further ones would wait too. */
  readonly isAtLimit?: boolean;
  /**
   * Begins to connect, and does not wait for the peer. `signals` resolves once the signal is on disk. If `signals`
   * throws, the provider must report the signal again; after `unknown` it may do so a little later.
   */
  start(signals: (signal: Signal) => Promise<Applied>): Promise<void>;
  /** Never throws for a fault of the peer; a throw counts as `unknown`. */
  send(message: Outbound, abort: AbortSignal): Promise<Outcome>;
  /**
   * Finds the outcome of an attempt whose outcome is unknown, and never sends. `absent`: the peer provably never
   * accepted the message. Later messages of the same sender and recipient may be sent meanwhile, and other outcomes looked up.
   */
  reconcile?(message: Outbound): Promise<Outcome | "absent">;
  /** The encoding and the number of short messages that `send` would make of a text. Without it, those of GSM 03.40. */
  measureSms?(text: string): { encoding: Encoding; segments: number };
  /**
   * Handles a request of the peer to the instance's hook: verifies it, reports its signals, and responds once they are
   * on disk. A throw is answered with 500.
   */
  receive?(request: HookRequest): Promise<HookResponse>;
  health(): Promise<Health>;
  /**
   * Called before `stop` when the instance is deleted: removes everything that this provider set up at the peer,
   * without a long wait. Throws a sentence for the operator about anything it could not remove.
   */
  remove?(): Promise<void>;
  stop(): Promise<void>;
}
