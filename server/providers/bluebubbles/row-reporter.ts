/** Reports rows of the Mac's message table as signals, once per change, however often and from wherever a row arrives. */

import type { Channel } from "../../../sdk/wire.ts";
import { setBounded } from "../../core/bounded-map.ts";
import type { GroupSnapshot } from "../../core/group.ts";
import { keywordOf } from "../../core/opt-out.ts";
import { answerTo } from "../../core/routing.ts";
import { SerialQueue } from "../../core/serial-queue.ts";
import { ownAddress } from "../kit/own-address.ts";
import { type Applied, PeerFault, type ReceiptSignal, type Signal } from "../provider.ts";
import { type AppleCash, readAppleCash } from "./apple-cash.ts";
import type { ChatCache } from "./chat-cache.ts";
import { isNotFound, type Limits, pathSegment } from "./client.ts";
import {
  audioKeptOf,
  type ContactRowKind,
  changedAtOf,
  groupChangeOf,
  inboundOf,
  isEmpty,
  isIncomplete,
  isPaymentRow,
  isRetracted,
  kindOf,
  RECEIPT_RANK,
  ROW_SIGNALS,
  type RowDestination,
  type RowSignal,
  reactionOfRow,
  receiptOf,
  revisionOf,
  sizeOf,
  textOfRow,
  writtenOf,
} from "./inbound.ts";
import type { LateRows } from "./late-rows.ts";
import type { Mac } from "./mac.ts";
import type { PaymentJournal } from "./payment-journal.ts";
import { tapbackOf } from "./reactions.ts";
import { isGroupChat, type MacChat, type MacMessage, parseMessage } from "./records.ts";
import { findChannel } from "./row-channel.ts";
import { RetryLater, RowQueue, retryLater, type ShouldGiveUp } from "./row-queue.ts";
import { clockOffMs } from "./status.ts";

/** Messages remembered as reported. Beyond that the oldest is reported once more. */
const REPORTED_MAX = 20_000;

/** Relations of a message fetched by itself. */
const WHOLE = "chats,attachments,attributed-body,payload-data,message-summary-info";

export interface RowReporterOptions {
  mac: Mac;
  /** Limits of requests to the Mac. */
  limits: Limits;
  chatCache: ChatCache;
  payments: PaymentJournal;
  late: LateRows;
  report: (signal: Signal) => Promise<Applied>;
  /** Dates before which contacts' rows are not reported: new ones before the first, changes of any before the second. */
  freshFrom: () => number;
  bornAt: () => number;
  /** Channel that a message of ours was sent on; null if it is not polled. */
  channelOf: (guid: string) => Channel | null;
  /** The note that goes with a receipt. */
  noteWith: (receipt: ReceiptSignal) => Pick<ReceiptSignal, "note">;
  /** A receipt of a message of ours was reported. */
  receiptReported: (receipt: ReceiptSignal) => void;
}

/** A contact's row with everything needed to report it. */
interface ContactRow {
  row: MacMessage;
  place: RowDestination;
  /** Sender or actor; null if the row names none. */
  from: string | null;
  shouldGiveUp: ShouldGiveUp;
}

/** The part of a row that was reported. It is only in memory and saves repeated reports, which would change nothing. */
interface ReportedRow {
  /** The rank of the receipt of a message of ours; the date of the latest change of a contact's, 0 for none. */
  reach: number;
  /** `sizeOf` a contact's message. */
  size: number;
}

export class RowReporter {
  readonly #options: RowReporterOptions;
  readonly #queue: RowQueue;
  readonly #entrance = new SerialQueue();
  readonly #reported = new Map<string, ReportedRow>();

  constructor(options: RowReporterOptions) {
    const { clock, fault } = options.mac.context;
    this.#options = options;
    const handle = (row: MacMessage, shouldGiveUp: ShouldGiveUp) => this.#reportRow(row, shouldGiveUp);
    this.#queue = new RowQueue(clock, handle, fault);
  }

  /** Ingests a row; resolves as `RowQueue.push`. Never throws. */
  async ingest(row: MacMessage): Promise<boolean> {
    if (!isOfOneContact(row)) return this.#queue.push(row);
    // Rows enter the queue in the order in which they came, however long the words of one take.
    const { queued } = await this.#entrance.run("", async () => {
      const isUrgent = await this.#isUrgent(row).catch(() => false);
      return { queued: this.#queue.push(row, isUrgent) };
    });
    return queued;
  }

  /** The service sent this message: its receipts so far were reported to nobody. */
  messageSent(guid: string): void {
    this.#reported.delete(guid);
    this.#queue.markKnown(guid);
  }

  stop(): Promise<void> {
    return this.#queue.stop();
  }

  async #reportRow(row: MacMessage, shouldGiveUp: ShouldGiveUp): Promise<void> {
    const kind = kindOf(row);
    if (kind === "other") return;
    if (kind === "own") return this.#reportReceipt(row, shouldGiveUp);
    const mayHaveGained = this.#options.late.has(row.guid) && isTooLittle(row);
    if (this.#newsOf(row, kind).length === 0 && !mayHaveGained) return;
    const whole = isTooLittle(row) ? await this.#wholeOf(row, shouldGiveUp) : row;
    // The message was deleted in between.
    if (whole === null) return;
    const place = await this.#destinationOf(whole, shouldGiveUp);
    if (place !== null) await this.#reportNews(whole, kind, place, shouldGiveUp);
    if (place !== null && kind === "message") await this.#options.late.reported(row.guid, isIncomplete(whole));
    // A row at none of our addresses also counts as reported, so that it is not examined again.
    this.#markReported(whole, changedAtOf(whole));
  }

  async #reportReceipt(row: MacMessage, shouldGiveUp: ShouldGiveUp): Promise<void> {
    const { mac, channelOf, report, noteWith, receiptReported } = this.#options;
    const isGroup = row.chats.some(isGroupChat);
    const rank = RECEIPT_RANK[receiptOf(row, "imessage", isGroup).receipt];
    if (rank <= (this.#reported.get(row.guid)?.reach ?? 0)) return;
    const used = channelOf(row.guid) ?? (await this.#channelOf(row, shouldGiveUp));
    if (used === null) return;
    // The engine sent the message by a channel that is sent, whatever Messages made of it.
    const channel = answerTo(used);
    for (const chat of row.chats) mac.chatGuids.learn(chat, channel);
    const receipt = receiptOf(row, channel, isGroup);
    const signal = { ...receipt, ...noteWith(receipt) };
    const applied = await report(signal);
    // The response to the send may still come. If it does not, somebody wrote the message on the Mac.
    if (applied === "unknown" && !shouldGiveUp("unknownMessage"))
      throw new RetryLater("unknownMessage", "the service does not know this message of ours yet");
    if (applied === "unknown") await this.#reportWritten(row, used, shouldGiveUp);
    this.#markReported(row, rank);
    if (applied === "unknown") return;
    // `sent` and `failed` may come from the Mac alone, and do not prove that Messages reaches Apple.
    if (rank >= RECEIPT_RANK.delivered) mac.health.activitySeen();
    receiptReported(signal);
  }

  /** Reports a row of ours that no send of the service explains, if it is fresh: somebody wrote it in Messages. */
  async #reportWritten(row: MacMessage, channel: Channel, shouldGiveUp: ShouldGiveUp): Promise<void> {
    const { mac, freshFrom, report } = this.#options;
    if (row.dateCreated === null || isOlderThan(row, freshFrom())) return;
    const whole = await this.#wholeOf(row, shouldGiveUp);
    const chat = whole?.chats[0];
    if (whole === null || chat === undefined || whole.error !== 0 || isRetracted(whole) || isEmpty(whole)) return;
    const to = await ownAddress(mac.context, chat.lastAddressedHandle);
    if (to === null) return;
    const group = isGroupChat(chat) ? await this.#groupOf(chat, shouldGiveUp) : null;
    // By its participants the engine recognises a group that was created here, and its open attempts.
    if (group?.participants.length === 0) return;
    const writtenAt = row.dateCreated - clockOffMs(mac.health.info);
    const signal = writtenOf(whole, { to, channel, group }, writtenAt);
    if (signal !== null && (await report(signal)) === "unknown")
      throw new RetryLater("unknownMessage", "a send attempt without an outcome may explain this message");
  }

  /** Signals that are due for a contact's row. Rows that are too old produce none. */
  #newsOf(row: MacMessage, kind: ContactRowKind): RowSignal[] {
    const { freshFrom, bornAt } = this.#options;
    const reported = this.#reported.get(row.guid);
    const { first, changed } = ROW_SIGNALS[kind];
    const news: RowSignal[] = [];
    const hasGained = kind === "message" && sizeOf(row) > (reported?.size ?? 0);
    if ((reported === undefined || hasGained) && !isOlderThan(row, freshFrom())) news.push(first);
    if (changed !== null && changedAtOf(row) > (reported?.reach ?? 0) && !isOlderThan(row, bornAt()))
      news.push(changed);
    return news;
  }

  async #reportNews(
    row: MacMessage,
    kind: ContactRowKind,
    place: RowDestination,
    shouldGiveUp: ShouldGiveUp,
  ): Promise<void> {
    const from = row.handle?.address ?? (place.group === null ? row.chats[0]?.chatIdentifier : null) ?? null;
    for (const signalKind of this.#newsOf(row, kind)) {
      const signal = await this.#signals[signalKind]({ row, place, from, shouldGiveUp });
      if (signal === null) continue;
      await this.#options.report(signal);
      this.#options.mac.health.activitySeen();
      // If the change cannot be stored, the message itself is not reported again.
      this.#markReported(row, this.#reported.get(row.guid)?.reach ?? 0);
    }
  }

  readonly #signals: Readonly<Record<RowSignal, (found: ContactRow) => Promise<Signal | null>>> = {
    inbound: (found) => this.#inbound(found),
    revision: async ({ row, place }) => revisionOf(row, place),
    reaction: (found) => this.#reaction(found),
    audioKept: async ({ row, place }) => audioKeptOf(row, place),
    group: (found) => this.#groupChange(found),
  };

  async #inbound({ row, place, from, shouldGiveUp }: ContactRow): Promise<Signal | null> {
    if (isRetracted(row)) return null;
    if (from === null) return this.#noSender();
    const isReported = this.#reported.has(row.guid) || this.#options.late.has(row.guid);
    if (!isReported && isIncomplete(row) && !(await this.#isUrgent(row)) && !shouldGiveUp("incomplete")) {
      throw new RetryLater("incomplete", "the Mac does not have all of a contact's message yet");
    }
    return inboundOf(row, from, place, isPaymentRow(row) ? await this.#paymentOf(row) : null);
  }

  /** Reads a payment. Without an amount if another message reported it before. */
  async #paymentOf(row: MacMessage): Promise<AppleCash> {
    const cash = readAppleCash(row.payloadData, row.text);
    const counts = cash.kind !== "payment" || (await this.#options.payments.claim(cash.transactionId, row.guid));
    return counts ? cash : { ...cash, amountCents: null };
  }

  async #reaction({ row, place, from }: ContactRow): Promise<Signal | null> {
    const tapback = tapbackOf(row);
    if (tapback === null) return null;
    if (from === null) return this.#noSender();
    const targetText = textOfRow(row) === null ? await this.#textOf(tapback.target) : null;
    return reactionOfRow(row, tapback, from, place, targetText);
  }

  async #groupChange({ row, place }: ContactRow): Promise<Signal | null> {
    const { chatCache } = this.#options;
    const chat = row.chats[0];
    if (chat === undefined || place.group === null) return null;
    chatCache.invalidate(chat.guid);
    const group = await chatCache.group(chat);
    return groupChangeOf(row, { ...place, group }, chatCache.addressOf(row.otherHandle));
  }

  #noSender(): null {
    this.#options.mac.context.fault(new PeerFault("a row of the Mac names no sender"));
    return null;
  }

  /** The whole message; or the row as it is, if BlueBubbles keeps failing at the message and the row names a chat. */
  async #wholeOf(row: MacMessage, shouldGiveUp: ShouldGiveUp): Promise<MacMessage | null> {
    try {
      return await this.#readWhole(row.guid);
    } catch (error) {
      if (!isBroken(error) || !shouldGiveUp("broken")) throw error;
      this.#options.mac.context.fault(error);
      return row.chats.length === 0 ? null : row;
    }
  }

  /** Fetches the whole message; null if the Mac has none with that guid. Throws `RetryLater`. */
  async #readWhole(guid: string): Promise<MacMessage | null> {
    const { mac, limits } = this.#options;
    const response = await mac.client.get(`/message/${pathSegment(guid)}`, { with: WHOLE }, limits);
    if (response.kind === "ok") return parseMessage(response.data);
    if (isNotFound(response)) return null;
    throw retryLater(response);
  }

  async #textOf(guid: string): Promise<string | null> {
    try {
      const target = await this.#readWhole(guid);
      return target === null ? null : textOfRow(target);
    } catch {
      return null;
    }
  }

  /** Finds the address, channel and group of a row; null if it is at none of our addresses. Throws `RetryLater`. */
  async #destinationOf(row: MacMessage, shouldGiveUp: ShouldGiveUp): Promise<RowDestination | null> {
    const { context, chatGuids } = this.#options.mac;
    const chat = row.chats[0];
    const to = await ownAddress(context, chat?.lastAddressedHandle ?? null);
    if (to === null) {
      if (kindOf(row) === "message") this.#options.mac.health.messageUnaddressed();
      context.fault(new PeerFault("a message arrived at an address that is not a number of this instance"));
      return null;
    }
    const channel = await this.#channelOf(row, shouldGiveUp);
    if (channel === null) return null;
    for (const one of row.chats) chatGuids.learn(one, channel);
    const group = chat !== undefined && isGroupChat(chat) ? await this.#groupOf(chat, shouldGiveUp) : null;
    return { to, channel, group };
  }

  /** The channel of a row; null, with a fault, if the Mac names none. Throws `RetryLater`. */
  async #channelOf(row: MacMessage, shouldGiveUp: ShouldGiveUp): Promise<Channel | null> {
    const { mac, limits } = this.#options;
    try {
      const channel = await findChannel(mac.client, row, limits);
      if (channel === null) mac.context.fault(new PeerFault("a row of the Mac has no service that is a channel"));
      return channel;
    } catch (error) {
      if (!isBroken(error) || !shouldGiveUp("broken")) throw error;
      mac.context.fault(error);
      return null;
    }
  }

  /** The group with its participants; without them if BlueBubbles keeps failing at the group. */
  async #groupOf(chat: MacChat, shouldGiveUp: ShouldGiveUp): Promise<GroupSnapshot> {
    try {
      return await this.#options.chatCache.group(chat);
    } catch (error) {
      if (!isBroken(error) || !shouldGiveUp("broken")) throw error;
      return { reference: chat.guid, name: chat.displayName === "" ? null : chat.displayName, participants: [] };
    }
  }

  /** Whether a contact's row may change the list of opt-outs: it waits neither for its files nor behind others. */
  async #isUrgent(row: MacMessage): Promise<boolean> {
    const { context } = this.#options.mac;
    const text = textOfRow(row);
    if (text === null || !isOfOneContact(row)) return false;
    const to = await ownAddress(context, row.chats[0]?.lastAddressedHandle ?? null);
    return to !== null && keywordOf(text, await context.optOutWordsAt(to)) !== null;
  }

  #markReported(row: MacMessage, reach: number): void {
    setBounded(this.#reported, row.guid, { reach, size: sizeOf(row) }, REPORTED_MAX);
  }
}

function isOfOneContact({ isFromMe, chats }: MacMessage): boolean {
  return !isFromMe && !chats.some(isGroupChat);
}

/** Whether a queried row lacks what a report needs: its chat, its payment, its text or its files. */
function isTooLittle(row: MacMessage): boolean {
  if (row.chats.length === 0 || (isPaymentRow(row) && row.payloadData === null)) return true;
  return kindOf(row) === "message" && isIncomplete(row);
}

/** A row without a date counts as new. */
function isOlderThan({ dateCreated }: MacMessage, at: number): boolean {
  return dateCreated !== null && dateCreated < at;
}

function isBroken(error: unknown): boolean {
  return error instanceof RetryLater && error.reason === "broken";
}
