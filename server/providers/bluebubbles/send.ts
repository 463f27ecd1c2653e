/** Sends messages through one Mac, each exactly once, and reconciles the attempts whose outcome is unknown. */

import { setBounded } from "../../core/bounded-map.ts";
import { maskAddress } from "../../core/phone.ts";
import { AttemptEnded, type NotedAttempt } from "../../core/send-attempt.ts";
import { type NotedPart, type Outbound, type Outcome, outcomeOfRest } from "../provider.ts";
import { createAttempt, type MacAttempt } from "./attempt-note.ts";
import { isAvailable } from "./availability.ts";
import { newChatBody } from "./body.ts";
import { describeFailure, isBlueBubblesError, pathSegment } from "./client.ts";
import type { Mac } from "./mac.ts";
import type { NewChatLimit } from "./new-chat-limit.ts";
import { nameOf, OpenAttempts } from "./open-attempts.ts";
import {
  classifyFailure,
  deferred,
  down,
  NOT_ON_IMESSAGE,
  outcomeOfFailure,
  outcomeOfRow,
  unknown,
} from "./outcomes.ts";
import { RateLimited } from "./rate-limiter.ts";
import { MacReconciler, type SendListener } from "./reconcile.ts";
import { parseChat, parseMessage } from "./records.ts";
import { buildSendRequest, type SendRequest } from "./send-request.ts";
import { SMS_NOT_FORWARDED } from "./status.ts";

/** Limit of sends without a response: a Mac that hangs gets no more. */
const OPEN_MAX = 24;
const AVAILABILITY_LIMIT_MS = 10_000;
/** Limit of outcomes cached for `reconcile`. */
const ENDED_KEPT_MAX = 1_000;
/** Name of the part that is sent first if a conversation begins with a text and files. */
const TEXT = "the text";
const UNPOSTED = "the files were not posted";
/** Attempts to send to a group that Messages does not know yet. */
const GROUP_TRIES = 3;
const GROUP_RETRY_MS = 10_000;

/** Chat that a message goes to: the guid of an existing chat, or the addresses to begin one with. */
type TargetChat = { guid: string } | { begin: readonly string[]; isNew: boolean };

/** Result of a request: the outcome and the chat it went to, or `noChat` if Messages does not know the chat. */
type SendRequestResult = { outcome: Outcome; chatGuid: string | null } | "noChat";

/** Sender of one Mac. Call `load` first, `stop` last. */
export class MacSender {
  readonly #mac: Mac;
  readonly #newChatLimit: NewChatLimit;
  readonly #listener: SendListener;
  readonly #attempts: OpenAttempts;
  readonly #reconciler: MacReconciler;
  readonly #open = new Map<string, Promise<Outcome>>();
  readonly #ended = new Map<string, Outcome>();

  constructor(mac: Mac, newChatLimit: NewChatLimit, listener: SendListener) {
    this.#mac = mac;
    this.#newChatLimit = newChatLimit;
    this.#listener = listener;
    this.#attempts = new OpenAttempts(mac.context.attempts, mac.context.clock);
    this.#reconciler = new MacReconciler(mac, this.#attempts, listener);
  }

  /** Reads what the previous process left. `noted`: the send attempts with notes. */
  async load(noted: readonly NotedAttempt[]): Promise<void> {
    this.#attempts.load(noted);
    await this.#newChatLimit.load();
    this.#reconciler.start();
  }

  /**
   * Sends a message. `abort` cancels waiting for the rate limiter. It does not cancel a posted request: the Mac completes the
   * request, and its outcome is kept for `reconcile`.
   */
  send(message: Outbound, abort: AbortSignal): Promise<Outcome> {
    const name = nameOf(message);
    if (this.#open.has(name)) return Promise.resolve(unknown("this attempt is still in progress"));
    const work = this.#attempt(message, abort)
      .catch((error: unknown) => {
        if (error instanceof RateLimited) return deferred(error.message);
        if (error instanceof AttemptEnded) return deferred("the send attempt has ended");
        throw error;
      })
      .then((outcome) => this.#conclude(message, outcome))
      .finally(() => this.#open.delete(name));
    this.#open.set(name, work);
    return work;
  }

  /** Returns the outcome of an attempt. Returns `absent` only if the Mac provably has no row of the message and will create none. */
  async reconcile(message: Outbound): Promise<Outcome | "absent"> {
    const outcome = await this.#reconcileAttempt(message);
    if (outcome !== "absent") return this.#conclude(message, outcome);
    // The text that begins a conversation may have been sent before the files that this attempt is about.
    if (this.#attempts.textOf(message) !== null) {
      return this.#conclude(message, { outcome: "deferred", retryAfterMs: 0, reason: UNPOSTED });
    }
    this.#attempts.release(message);
    return "absent";
  }

  async #reconcileAttempt(message: Outbound): Promise<Outcome | "absent"> {
    const name = nameOf(message);
    if (this.#open.has(name)) return unknown("the Mac has not responded yet");
    const ended = this.#ended.get(name);
    if (ended !== undefined && outcomeOfRest(ended).outcome !== "unknown") return ended;
    const attempt = await this.#attempts.find(message);
    if (attempt === null) {
      // Each request is noted before it is posted: no note means that nothing was posted, unless a backup was restored since.
      if (message.unrecorded !== true) return "absent";
      const { clock } = this.#mac.context;
      const startedAt = clock.real() - (clock.now() - message.attemptedAt);
      return this.#reconciler.reconcile(message, createAttempt(message, startedAt));
    }
    // The process that sent the text may have died before its outcome was on disk.
    if (attempt.textGuid !== null && message.sentPart === null) this.#listener.pollReceipts(attempt.textGuid, message);
    if (attempt.isOpen) return this.#reconciler.reconcile(message, attempt);
    if (attempt.guid === null) return "absent";
    const outcome = outcomeOfRow({ guid: attempt.guid, error: attempt.error }, message.channel);
    if (outcome.outcome === "accepted") this.#noteSent(message, outcome.reference);
    return outcome;
  }

  /** Stops reconciling and resolves when no send is in progress. Close the client first. */
  async stop(): Promise<void> {
    this.#reconciler.stop();
    await Promise.allSettled(this.#open.values());
  }

  /** The outcome with its notes, and with the text that was sent before the files. It is kept for `reconcile`. */
  #conclude(message: Outbound, bare: Outcome): Outcome {
    const outcome = this.#withSentText(message, this.#withNote(bare));
    if (outcomeOfRest(outcome).outcome === "unknown") return outcome;
    setBounded(this.#ended, nameOf(message), outcome, ENDED_KEPT_MAX);
    this.#attempts.release(message);
    return outcome;
  }

  #withNote(outcome: Outcome): Outcome {
    if (outcome.outcome !== "accepted") return outcome;
    return { ...outcome, note: () => this.#listener.noteOf(outcome.reference) };
  }

  #noteSent(message: Outbound, guid: string): void {
    this.#mac.health.messageSent();
    this.#listener.pollReceipts(guid, message);
  }

  async #attempt(message: Outbound, abort: AbortSignal): Promise<Outcome> {
    if (this.#open.size >= OPEN_MAX) return deferred(`${OPEN_MAX} messages wait for a response of the Mac`);
    const notReady = await this.#mac.health.ready();
    if (notReady !== null) return down(notReady);
    if (message.channel === "sms" && (await this.#mac.health.forwardsSms()) === false) {
      return { outcome: "rejected", code: "SMS_NOT_FORWARDED", reason: SMS_NOT_FORWARDED };
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
    // This was a read: nothing of the message was posted. The Mac fails at this conversation only.
    if (isBlueBubblesError(found) && classifyFailure(found) !== "notAttempted") return deferred(describeFailure(found));
    this.#mac.health.reportDown(found);
    return down(describeFailure(found));
  }

  /** Sends one request into a chat: the whole message, or the files if the text was sent before. */
  async #intoChat(message: Outbound, chatGuid: string, abort: AbortSignal): Promise<Outcome> {
    const text = this.#attempts.textOf(message);
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

  /** Begins a conversation with the text; the files follow in a second request. */
  async #beginChat(
    message: Outbound,
    { begin, isNew }: Extract<TargetChat, { begin: unknown }>,
    abort: AbortSignal,
  ): Promise<Outcome> {
    if (message.text === "") {
      const reason = "the Mac can begin a conversation with a text only: send a text first, or together with the files";
      return { outcome: "rejected", code: "NEW_CHAT_NEEDS_TEXT", reason };
    }
    // The files have no chat to go to. Beginning another conversation would send the text twice.
    if (this.#attempts.textOf(message) !== null)
      return deferred("Messages does not know the conversation that the text was sent to");
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
    if (posted === "noChat") return deferred("Messages did not find the conversation it began");
    const { outcome, chatGuid } = posted;
    if (isNew && outcome.outcome === "deferred") await this.#newChatLimit.release();
    if (outcome.outcome !== "accepted") return outcome;
    if (chatGuid !== null) this.#listener.groupCreated(message, chatGuid);
    if (!hasFiles) return outcome;
    this.#listener.pollReceipts(outcome.reference, message);
    if (chatGuid === null) return deferred("the Mac did not return the conversation that the text began");
    return this.#intoChat(message, chatGuid, abort);
  }

  /** Returns the outcome that keeps a new conversation from being begun; null if it may be begun. */
  async #refuseNewChat(message: Outbound, abort: AbortSignal): Promise<Outcome | null> {
    const limits = { limitMs: AVAILABILITY_LIMIT_MS, abort };
    const isAsked = message.channel === "imessage" && message.group === null;
    if (isAsked && (await isAvailable(this.#mac, "imessage", message.to, limits)) === false) {
      const reason = `Apple says that ${maskAddress(message.to)} is not on iMessage`;
      return { outcome: "rejected", code: NOT_ON_IMESSAGE, reason, notReachable: true };
    }
    const waitMs = await this.#newChatLimit.acquire();
    if (waitMs === null) return null;
    const reason = "the instance's hourly limit of new conversations is reached";
    return { outcome: "deferred", retryAfterMs: waitMs, reason };
  }

  async #post(message: Outbound, request: SendRequest, abort: AbortSignal): Promise<SendRequestResult> {
    await this.#mac.rateLimiter.acquire(abort);
    const attempt = await this.#attempts.begin(message, request);
    const response = await request.post();
    if (response.kind === "ok") return this.#readRow(message, attempt, response.data);
    const failureClass = classifyFailure(response);
    switch (failureClass) {
      case "noChat":
        if (request.chatGuid !== null) this.#mac.chatGuids.forget(request.chatGuid);
        this.#attempts.notSent(attempt);
        return "noChat";
      case "failedRow":
        return { outcome: await this.#reconciler.failedRow(message, attempt, response), chatGuid: null };
      case "notAttempted":
        this.#mac.health.reportDown(response);
        this.#attempts.notSent(attempt);
        return { outcome: outcomeOfFailure(response, failureClass), chatGuid: null };
      case "refused":
        this.#attempts.notSent(attempt);
        return { outcome: outcomeOfFailure(response, failureClass), chatGuid: null };
      case "unknown":
        return { outcome: outcomeOfFailure(response, failureClass), chatGuid: null };
    }
  }

  /** Reads the row in a successful response: the first message of a new chat, or the response itself. */
  async #readRow(message: Outbound, attempt: MacAttempt, data: unknown): Promise<SendRequestResult> {
    const begun = attempt.chatGuid === null ? parseChat(data) : null;
    const row = begun === null ? parseMessage(data) : (begun.messages[0] ?? null);
    const chat = begun ?? row?.chats[0] ?? null;
    const chatGuid = chat?.guid ?? attempt.chatGuid;
    if (chat !== null && message.group === null) this.#mac.chatGuids.learn(chat, message.channel);
    if (row === null) return { outcome: unknown("the response of the Mac did not contain the message"), chatGuid };
    if (!(await this.#attempts.claim(attempt, row.guid))) {
      return { outcome: unknown("the Mac responded with the row of another message"), chatGuid };
    }
    this.#attempts.rowFound(attempt, row);
    const outcome = outcomeOfRow(row, message.channel);
    if (outcome.outcome !== "accepted") return { outcome, chatGuid };
    if (attempt.step !== "text") this.#noteSent(message, row.guid);
    // If the disk fails now, memory still holds the text. After a restart the Mac is asked.
    else await this.#attempts.textSent(attempt, row.guid).catch((error: unknown) => this.#mac.context.fault(error));
    return { outcome, chatGuid };
  }

  /** Adds the text that was sent before the files to the outcome of the files. */
  #withSentText(message: Outbound, outcome: Outcome): Outcome {
    const guid = this.#attempts.textOf(message);
    if (guid === null || outcome.outcome === "partly") return outcome;
    const part: NotedPart = { reference: guid, what: TEXT, note: () => this.#listener.noteOf(guid) };
    return outcome.outcome === "accepted" ? { ...outcome, part } : { outcome: "partly", part, rest: outcome };
  }

  /**
   * Checks the row of the text before the files are sent, since a Mac may respond with 200 and fail afterwards. Returns the
   * rejection if Messages failed to send the text; null otherwise.
   */
  async #checkSentText(message: Outbound, guid: string): Promise<Outcome | null> {
    const response = await this.#mac.client.get(`/message/${pathSegment(guid)}`, { with: "chats" });
    const row = response.kind === "ok" ? parseMessage(response.data) : null;
    if (row === null || row.error === 0) return null;
    const outcome = outcomeOfRow(row, message.channel);
    const { channel } = message;
    if (outcome.outcome !== "rejected") return null;
    const { code, reason, notReachable = false } = outcome;
    this.#attempts.textFailed(message, row);
    // If the text is on record as sent, the engine learns of its failure before the rejection.
    await this.#listener.report({
      kind: "receipt",
      receipt: "failed",
      reference: guid,
      channel,
      code,
      reason,
      notReachable,
    });
    if (message.sentPart === null) return outcome;
    // The row is on record as the part.
    const { reference: _, ...bare } = outcome;
    return bare;
  }
}

function groupUnknown({ attempt }: Outbound): Outcome {
  const reason = "Messages does not know the group";
  if (attempt < GROUP_TRIES) return { outcome: "deferred", retryAfterMs: GROUP_RETRY_MS, reason };
  return { outcome: "rejected", code: "CHAT_NOT_FOUND", reason };
}
