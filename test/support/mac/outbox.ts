/** Sends on the fake Mac: creates the row of a message, delivers it to phones, and returns the response. */

import type { Clock } from "../../../server/clock.ts";
import type { AttachmentRow, ChatDb, ChatRow, MessageRow, Service } from "./chat-db.ts";
import { gatewayTimeout, iMessageError } from "./envelope.ts";
import type { Events } from "./events.ts";
import type { Fault, Faults } from "./faults.ts";
import type { Phone, Sent } from "./phone.ts";

const TRANSACTION_TIMEOUT_MS = 120_000;
const ROW_TIMEOUT_MS = 60_000;
/** Delay between the response and a late error in the row. */
const LATE_ERROR_MS = 1_000;
const LATE_ANSWER_MS = 1_000;

/** Cuts the connection instead of responding. */
export class Hangup extends Error {}

/** A message to send, as in the request. */
export interface Draft {
  chat: ChatRow;
  service: Service;
  text: string | null;
  subject?: string | null;
  attachments?: AttachmentRow[];
  /** The files that its text names, if Messages links some of them later. */
  namedFiles?: AttachmentRow[];
  effectId?: string | null;
  replyTo?: string | null;
  mentions?: readonly string[];
  isAudioMessage?: boolean;
  reaction?: { type: string; target: string };
  tempGuid?: string;
  /** For `chat/new` and attachments: the response ignores the row's error, and no event carries the `tempGuid`. */
  isUnchecked?: boolean;
  /** Type of a failure: `Message Send Error`, `Attachment Send Error`. */
  headline: string;
}

export class Outbox {
  /** Everything sent to phones, in order. A message sent twice is in it twice. */
  readonly sent: Sent[] = [];
  readonly #db: ChatDb;
  readonly #events: Events;
  readonly #faults: Faults;
  readonly #clock: Clock;
  readonly #phone: (address: string) => Phone;
  /** Sends a message that the Mac's owner writes in Messages: it is pushed once, without a request. */
  byHand(written: Pick<Draft, "chat" | "text" | "attachments" | "namedFiles">): MessageRow {
    const draft = { ...written, service: "iMessage", headline: "", isUnchecked: true } as const;
    const row = this.#write(draft);
    this.#emit(row, draft);
    this.#goOut(row, draft);
    return row;
  }

  #swapping: { row: MessageRow; tempGuid: string | undefined } | null = null;

  constructor(parts: {
    db: ChatDb;
    events: Events;
    faults: Faults;
    clock: Clock;
    phone: (address: string) => Phone;
  }) {
    this.#db = parts.db;
    this.#events = parts.events;
    this.#faults = parts.faults;
    this.#clock = parts.clock;
    this.#phone = parts.phone;
  }

  /** Resolves with the row if the response is a 200. Throws the error response, or never resolves if the request hangs. */
  async send(draft: Draft): Promise<MessageRow> {
    const phone = draft.chat.style === 45 ? this.#phone(draft.chat.identifier) : null;
    if (phone !== null && phone.takesAfterMs > 0) await this.#pass(phone.takesAfterMs);
    if (this.#hits("hangs", draft) || this.#hitsFile("fileHangs", draft)) await never();
    if (this.#hits("commandTimesOut", draft)) await this.#fail(draft, "Transaction timeout", TRANSACTION_TIMEOUT_MS);
    const row = this.#write(draft);
    const isDead = this.#faults.has("greenButDead") || this.#faults.has("signedOut");
    if (isDead || this.#hits("staysUnsent", draft)) {
      row.isSent = false;
      this.#emit(row, draft);
      return row;
    }
    const error = this.#errorOf(row, draft);
    if (error === "atOnce") return await this.#refuse(row, draft);
    if (error === "later") {
      row.isSent = false;
      this.#clock.after(LATE_ERROR_MS, () => {
        row.error = phone?.error ?? 22;
      });
      this.#emit(row, draft);
      return row;
    }
    this.#emit(row, draft);
    this.#goOut(row, draft);
    await this.#answer(draft);
    return row;
  }

  #errorOf(row: MessageRow, draft: Draft): "atOnce" | "later" | null {
    if (this.#hits("errorAtOnce", draft) || this.#hitsFile("fileErrorAtOnce", draft)) return "atOnce";
    if (this.#hits("errorLater", draft) || this.#hitsFile("fileErrorLater", draft)) return "later";
    if (draft.chat.style === 43) return null;
    const phone = this.#phone(draft.chat.identifier);
    const isReachable = row.service === "iMessage" ? phone.isOnIMessage : phone.takesSms;
    if (isReachable) return null;
    return phone.refusesAtOnce ? "atOnce" : "later";
  }

  async #refuse(row: MessageRow, draft: Draft): Promise<MessageRow> {
    row.error = draft.chat.style === 45 ? this.#phone(draft.chat.identifier).error : 22;
    row.isSent = false;
    this.#emit(row, draft);
    if (draft.isUnchecked === true) return row;
    throw iMessageError(draft.headline, "[500] Message sent with an error. See attached message");
  }

  #write(draft: Draft): MessageRow {
    const { chat, service } = draft;
    return this.#db.add({
      chat,
      service,
      isFromMe: true,
      dateCreated: this.#clock.now(),
      text: draft.text,
      subject: draft.subject ?? null,
      handle: chat.style === 45 ? this.#db.handle(chat.identifier, service) : null,
      attachments: draft.attachments ?? [],
      ...(draft.namedFiles === undefined ? {} : { namedFiles: draft.namedFiles }),
      expressiveSendStyleId: draft.effectId ?? null,
      threadOriginatorGuid: draft.replyTo ?? null,
      isAudioMessage: draft.isAudioMessage ?? false,
      associatedMessageGuid: draft.reaction === undefined ? null : `p:0/${draft.reaction.target}`,
      associatedMessageType: draft.reaction?.type ?? null,
    });
  }

  #emit(row: MessageRow, draft: Draft): void {
    const tempGuid = draft.isUnchecked === true ? undefined : draft.tempGuid;
    const first = this.#swapping;
    if (first !== null && first.row.text === row.text) {
      this.#swapping = null;
      this.#events.sent(first.row, tempGuid);
      this.#events.sent(row, first.tempGuid);
    } else if (this.#faults.hits("tempGuidsSwapped")) {
      this.#swapping = { row, tempGuid };
    } else {
      this.#events.sent(row, tempGuid);
    }
  }

  #goOut(row: MessageRow, draft: Draft): void {
    const to = row.chat.participants.map(({ address }) => address);
    const sent: Sent = {
      guid: row.guid,
      to,
      chatGuid: row.chat.guid,
      service: row.service,
      text: row.text,
      subject: row.subject,
      attachments: row.attachments,
      effectId: row.expressiveSendStyleId,
      replyTo: row.threadOriginatorGuid,
      mentions: draft.mentions ?? [],
      isAudioMessage: row.isAudioMessage,
      reaction: draft.reaction ?? null,
      tempGuid: draft.tempGuid ?? null,
      at: row.dateCreated,
    };
    this.sent.push(sent);
    for (const address of to) this.#phone(address).takes(sent);
  }

  /** Replaces the response according to the active fault. A sent message stays sent. */
  async #answer(draft: Draft): Promise<void> {
    if (this.#hits("answerLate", draft)) await this.#pass(LATE_ANSWER_MS);
    if (this.#hits("answerLost", draft) || this.#hitsFile("fileAnswerLost", draft)) throw new Hangup();
    if (this.#hits("sentAndHangs", draft)) await never();
    if (this.#hits("gatewayTimeout", draft)) throw gatewayTimeout();
    if (this.#hits("answerTimesOut", draft)) await this.#fail(draft, "Transaction timeout", TRANSACTION_TIMEOUT_MS);
    if (this.#hits("rowNotFound", draft)) {
      await this.#fail(
        draft,
        "Failed to send message! Message not found in database after 60 seconds!",
        ROW_TIMEOUT_MS,
      );
    }
  }

  /** Whether a fault is active for the whole Mac or for the recipient. */
  #hits(fault: Fault, { chat }: Draft): boolean {
    const isTheirs = chat.style === 45 && this.#phone(chat.identifier).faults.has(fault);
    return isTheirs || this.#faults.hits(fault);
  }

  /** Whether a fault for rows with files is active and this row has files. */
  #hitsFile(fault: Fault, draft: Draft): boolean {
    return (draft.attachments ?? []).length > 0 && this.#hits(fault, draft);
  }

  #pass(ms: number): Promise<void> {
    return new Promise((resolve) => void this.#clock.after(ms, resolve));
  }

  async #fail(draft: Draft, message: string, afterMs: number): Promise<never> {
    await this.#pass(afterMs);
    throw iMessageError(draft.headline, message);
  }
}

function never(): Promise<never> {
  return new Promise(() => {});
}
