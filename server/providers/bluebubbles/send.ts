/** Hands messages to one Mac, each once, and says what became of those whose outcome got lost. */

import type { Channel } from "../../../sdk/wire.ts";
import { setBounded } from "../../core/bounded-map.ts";
import { maskAddress } from "../../core/phone.ts";
import { type Outbound, type Outcome, restOf, type SentPart } from "../provider.ts";
import { AttemptJournal, createAttempt, type MacAttempt } from "./attempt-journal.ts";
import { isAvailable } from "./availability.ts";
import { newChatBody } from "./body.ts";
import { describeFailure, isBlueBubblesError, pathSegment } from "./client.ts";
import type { Mac } from "./mac.ts";
import {
  classifyFailure,
  deferred,
  down,
  NOT_ON_IMESSAGE,
  outcomeOfFailure,
  outcomeOfRow,
  unknown,
} from "./outcomes.ts";
import { type NewChatLimit, RateLimited } from "./rate-limiter.ts";
import { MacReconciler, type SendListener } from "./reconcile.ts";
import { parseChat, parseMessage } from "./records.ts";
import { buildSendRequest, type SendRequest } from "./send-request.ts";
import { NO_FORWARDING } from "./status.ts";

/** Hand-overs without an answer at once: a Mac that hangs is given no more. */
const OPEN_MAX = 24;
const AVAILABILITY_LIMIT_MS = 10_000;
/** Outcomes that nobody may have waited for are kept so many. */
const ENDED_KEPT_MAX = 1_000;
/** What goes out first where a conversation begins with a text and files. */
const TEXT = "the text";
const UNPOSTED = "the files were not posted";
/** A group that Messages does not know yet is tried so often. */
const GROUP_TRIES = 3;
const GROUP_RETRY_MS = 10_000;

/** The chat of a message: a guid, or those it is to be begun with. */
type TargetChat = { guid: string } | { begin: readonly string[]; isNew: boolean };

/** What a request came to: the outcome of its message, the chat it went on in, or that Messages does not know the chat. */
type PostResult = { outcome: Outcome; chatGuid: string | null } | "noChat";

/** The hand-overs of one Mac, from `load` until `stop`. */
export class MacSender {
  readonly #mac: Mac;
  readonly #newChatLimit: NewChatLimit;
  readonly #listener: SendListener;
  readonly #journal: AttemptJournal;
  readonly #reconciler: MacReconciler;
  readonly #open = new Map<string, Promise<Outcome>>();
  readonly #ended = new Map<string, Outcome>();

  constructor(mac: Mac, newChats: NewChatLimit, hearers: SendListener) {
    this.#mac = mac;
    this.#newChatLimit = newChats;
    this.#listener = hearers;
    this.#journal = new AttemptJournal(mac.context.memory, mac.context.clock);
    this.#reconciler = new MacReconciler(mac, this.#journal, hearers);
  }

  /** Takes up what the last process left. */
  async load(): Promise<void> {
    await Promise.all([this.#journal.load(), this.#newChatLimit.load()]);
    this.#reconciler.start();
  }

  /**
   * Hands a message over. `abort` ends the waiting for a turn, and nothing that was posted: the Mac goes on with that
   * whoever listens, and its answer is kept for `settle`.
   */
  send(message: Outbound, abort: AbortSignal): Promise<Outcome> {
    const name = nameOf(message);
    if (this.#open.has(name)) return Promise.resolve(unknown("this very hand-over is still under way"));
    const work = this.#attempt(message, abort)
      .catch((error: unknown) => {
        if (error instanceof RateLimited) return deferred(error.message);
        throw error;
      })
      .then((outcome) => this.#end(name, message.channel, this.#withSentText(message, outcome)))
      .finally(() => this.#open.delete(name));
    this.#open.set(name, work);
    return work;
  }

  /** What became of a hand-over; `absent` only where the Mac provably has no row of it and will make none. */
  async reconcile(message: Outbound): Promise<Outcome | "absent"> {
    const outcome = await this.#reconcileAttempt(message);
    if (outcome !== "absent") return this.#withSentText(message, outcome);
    // The text that began the conversation may have been sent all the same, before what this is about.
    if (this.#sentTextGuid(message) === null) return "absent";
    return this.#withSentText(message, { outcome: "deferred", retryAfterMs: 0, reason: UNPOSTED });
  }

  async #reconcileAttempt(message: Outbound): Promise<Outcome | "absent"> {
    const name = nameOf(message);
    if (this.#open.has(name)) return unknown("the Mac has not answered yet");
    const ended = this.#ended.get(name);
    if (ended !== undefined && restOf(ended).outcome !== "unknown") return ended;
    const attempt = this.#journal.latest(message);
    if (attempt === null || attempt.attempt < message.attempt) {
      const { clock } = this.#mac.context;
      const startedAt = clock.real() - (clock.now() - message.attemptedAt);
      // It is on record before anything is posted.
      if (this.#journal.covers(startedAt)) return "absent";
      return this.#reconciler.reconcile(message, createAttempt(message, startedAt));
    }
    if (attempt.isOpen) return this.#reconciler.reconcile(message, attempt);
    if (attempt.guid !== null) {
      // Whoever recorded it may have died before anybody followed it.
      const outcome = outcomeOfRow({ guid: attempt.guid, error: attempt.error }, message.channel);
      return this.#end(name, message.channel, outcome);
    }
    return "absent";
  }

  /** Asks about nothing more, and resolves when nothing is under way any more: that takes a client that is closed. */
  async stop(): Promise<void> {
    this.#reconciler.stop();
    await Promise.allSettled(this.#open.values());
  }

  #end(name: string, channel: Channel, outcome: Outcome): Outcome {
    if (outcome.outcome === "accepted") this.#noteSent(outcome.reference, channel);
    setBounded(this.#ended, name, outcome, ENDED_KEPT_MAX);
    return outcome;
  }

  #noteSent(guid: string, channel: Channel): void {
    this.#mac.health.messageSent();
    this.#listener.pollReceipts(guid, channel);
  }

  async #attempt(message: Outbound, abort: AbortSignal): Promise<Outcome> {
    if (this.#open.size >= OPEN_MAX) return deferred(`${OPEN_MAX} hand-overs wait for an answer of the Mac`);
    const notReady = await this.#mac.health.ready();
    if (notReady !== null) return down(notReady);
    if (message.channel === "sms" && (await this.#mac.health.forwardsSms()) === false) {
      return { outcome: "rejected", code: "SMS_NOT_FORWARDED", reason: NO_FORWARDING };
    }
    const place = await this.#findChat(message);
    if ("outcome" in place) return place;
    if ("guid" in place) return this.#intoChat(message, place.guid, abort);
    return this.#beginChat(message, place, abort);
  }

  async #findChat(message: Outbound): Promise<TargetChat | Outcome> {
    const { group, channel, to } = message;
    if (group !== null) {
      const guid = group.reference ?? this.#mac.chatGuids.findGroup(group.participants);
      return guid === null ? { begin: group.participants, isNew: true } : { guid };
    }
    const found = await this.#mac.chatGuids.findThread(to, channel);
    if (found.kind === "found") return { guid: found.guid };
    if (found.kind === "none") return { begin: [to], isNew: true };
    // Only asked for: nothing of the message was posted. What the Mac breaks at is this conversation, and no other.
    if (isBlueBubblesError(found) && classifyFailure(found) !== "notAttempted") return deferred(describeFailure(found));
    this.#mac.health.reportDown(found);
    return down(describeFailure(found));
  }

  /** One request: the whole message, or its files where its text went before. */
  async #intoChat(message: Outbound, chatGuid: string, abort: AbortSignal): Promise<Outcome> {
    const text = this.#sentTextGuid(message);
    const request = await buildSendRequest(this.#mac, message, chatGuid, text !== null);
    if ("outcome" in request) return request;
    if (text !== null) {
      const failed = await this.#checkSentText(message, text);
      if (failed !== null) return failed;
    }
    const posted = await this.#post(message, request, abort);
    if (posted !== "noChat") {
      if (posted.outcome.outcome === "accepted") this.#listener.groupCreated(message, chatGuid);
      return posted.outcome;
    }
    if (message.group?.reference !== undefined && message.group.reference !== null) return groupUnknown(message);
    const begin = message.group === null ? [message.to] : message.group.participants;
    return this.#beginChat(message, { begin, isNew: false }, abort);
  }

  /** A conversation begins with a text; files follow it in a request of their own. */
  async #beginChat(
    message: Outbound,
    { begin, isNew }: Extract<TargetChat, { begin: unknown }>,
    abort: AbortSignal,
  ): Promise<Outcome> {
    if (message.text === "") {
      const reason = "the Mac begins a conversation with a text only: send one first, or one with the files";
      return { outcome: "rejected", code: "NEW_CHAT_NEEDS_TEXT", reason };
    }
    // Its files have nowhere to go to, and beginning anew would send its text twice.
    if (this.#sentTextGuid(message) !== null)
      return deferred("Messages does not know the conversation that the text went to");
    if (isNew) {
      const no = await this.#refuseNewChat(message, abort);
      if (no !== null) return no;
    }
    const hasFiles = message.attachments.length > 0;
    const { client } = this.#mac;
    const request: SendRequest = {
      step: hasFiles ? "text" : "whole",
      files: 0,
      chatGuid: null,
      post: () => client.post("/chat/new", newChatBody(message, begin)),
    };
    const posted = await this.#post(message, request, abort).catch(async (error: unknown) => {
      if (isNew) await this.#newChatLimit.release();
      throw error;
    });
    if (posted === "noChat") return deferred("Messages did not find the conversation that it began");
    const { outcome, chatGuid } = posted;
    if (isNew && outcome.outcome === "deferred") await this.#newChatLimit.release();
    if (outcome.outcome !== "accepted") return outcome;
    if (chatGuid !== null) this.#listener.groupCreated(message, chatGuid);
    if (!hasFiles) return outcome;
    this.#listener.pollReceipts(outcome.reference, message.channel);
    if (chatGuid === null) return deferred("the Mac did not say which conversation the text began");
    return this.#intoChat(message, chatGuid, abort);
  }

  /** Whether a conversation may be begun; else what becomes of the message. */
  async #refuseNewChat(message: Outbound, abort: AbortSignal): Promise<Outcome | null> {
    const limits = { limitMs: AVAILABILITY_LIMIT_MS, abort };
    const isAsked = message.channel === "imessage" && message.group === null;
    if (isAsked && (await isAvailable(this.#mac, "imessage", message.to, limits)) === false) {
      const reason = `Apple says that ${maskAddress(message.to)} is not on iMessage`;
      return { outcome: "rejected", code: NOT_ON_IMESSAGE, reason, notReachable: true };
    }
    const waitMs = await this.#newChatLimit.acquire();
    if (waitMs === null) return null;
    const reason = `the Mac has begun as many conversations within the hour as it may`;
    return { outcome: "deferred", retryAfterMs: waitMs, reason };
  }

  async #post(message: Outbound, request: SendRequest, abort: AbortSignal): Promise<PostResult> {
    const { rateLimiter, context } = this.#mac;
    await rateLimiter.acquire(abort);
    const attempt = await this.#journal.begin(message, request);
    const answer = await request.post();
    // What the disk refuses now is known here all the same, and after a restart is asked of the Mac.
    const stored = (work: Promise<void>) => work.catch((error: unknown) => context.fault(error));
    if (answer.kind === "ok") return this.#readRow(message, attempt, answer.data, stored);
    const meaning = classifyFailure(answer);
    switch (meaning) {
      case "noChat":
        if (request.chatGuid !== null) this.#mac.chatGuids.forget(request.chatGuid);
        await stored(this.#journal.recordNotSent(attempt));
        return "noChat";
      case "failedRow":
        return { outcome: await this.#reconciler.failedRow(message, attempt, answer), chatGuid: null };
      case "notAttempted":
        this.#mac.health.reportDown(answer);
        await stored(this.#journal.recordNotSent(attempt));
        return { outcome: outcomeOfFailure(answer, meaning), chatGuid: null };
      case "refused":
        await stored(this.#journal.recordNotSent(attempt));
        return { outcome: outcomeOfFailure(answer, meaning), chatGuid: null };
      case "unknown":
        return { outcome: outcomeOfFailure(answer, meaning), chatGuid: null };
    }
  }

  /** The row in a good answer: of a new chat its first message, else the answer itself. */
  async #readRow(
    message: Outbound,
    attempt: MacAttempt,
    data: unknown,
    stored: (work: Promise<void>) => Promise<void>,
  ): Promise<PostResult> {
    const begun = attempt.chatGuid === null ? parseChat(data) : null;
    const row = begun === null ? parseMessage(data) : (begun.messages[0] ?? null);
    const chat = begun ?? row?.chats[0] ?? null;
    const chatGuid = chat?.guid ?? attempt.chatGuid;
    if (chat !== null && message.group === null) this.#mac.chatGuids.learn(chat, message.channel);
    if (row === null) return { outcome: unknown("the Mac answered without the message"), chatGuid };
    if (this.#journal.isKnownRow(row.guid)) {
      return { outcome: unknown("the Mac answered with the row of another message"), chatGuid };
    }
    await stored(this.#journal.recordRow(attempt, row));
    return { outcome: outcomeOfRow(row, message.channel), chatGuid };
  }

  /** The row of the text that began the conversation by itself; null while there is none. */
  #sentTextGuid(message: Outbound): string | null {
    return this.#journal.latest(message)?.textGuid ?? message.sentPart?.reference ?? null;
  }

  /** The outcome of a message whose text went before its files: of the files alone, where that is no failure of both. */
  #withSentText(message: Outbound, outcome: Outcome): Outcome {
    const guid = this.#sentTextGuid(message);
    if (guid === null || outcome.outcome === "partly") return outcome;
    const part: SentPart = { reference: guid, what: TEXT };
    return outcome.outcome === "accepted" ? { ...outcome, part } : { outcome: "partly", part, rest: outcome };
  }

  /**
   * The rejection of a message whose text turned out not to have been sent, before its files are; null where it was. A Mac
   * answers 200 before it knows.
   */
  async #checkSentText(message: Outbound, guid: string): Promise<Outcome | null> {
    const answer = await this.#mac.client.get(`/message/${pathSegment(guid)}`, { with: "chats" });
    const row = answer.kind === "ok" ? parseMessage(answer.data) : null;
    if (row === null || row.error === 0) return null;
    const outcome = outcomeOfRow(row, message.channel);
    const { channel } = message;
    if (outcome.outcome !== "rejected") return null;
    const { code, reason, notReachable = false } = outcome;
    await this.#journal.recordTextFailed(message, row);
    // Where the text is on record as sent, the service hears of this before the rejection.
    await this.#listener.report({
      kind: "receipt",
      receipt: "failed",
      reference: guid,
      channel,
      code,
      reason,
      notReachable,
    });
    return outcome;
  }
}

function groupUnknown({ attempt }: Outbound): Outcome {
  const reason = "Messages does not know the group";
  if (attempt < GROUP_TRIES) return { outcome: "deferred", retryAfterMs: GROUP_RETRY_MS, reason };
  return { outcome: "rejected", code: "CHAT_NOT_FOUND", reason };
}

function nameOf({ messageId, channel, attempt }: Outbound): string {
  return `${messageId} ${channel} ${attempt}`;
}
