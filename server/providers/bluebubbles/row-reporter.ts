/** One upsert by guid: whatever tells of a row of the Mac's messages, and however often, ends in it. */

import type { Channel } from "../../../sdk/wire.ts";
import { setBounded } from "../../core/bounded-map.ts";
import { type Applied, type GroupSnapshot, PeerFault, type ReceiptSignal, type Signal } from "../provider.ts";
import { type AppleCash, readAppleCash } from "./apple-cash.ts";
import type { ChatCache } from "./chat-cache.ts";
import { isNotFound, type Limits, pathSegment } from "./client.ts";
import {
  audioKeptOf,
  type ContactRowKind,
  changedAtOf,
  channelOfRow,
  type Destination,
  groupChangeOf,
  inboundOf,
  isEmpty,
  isPaymentRow,
  isRetracted,
  kindOf,
  RECEIPT_RANK,
  ROW_SIGNALS,
  type RowSignal,
  reactionOfRow,
  receiptOf,
  revisionOf,
  textOfRow,
} from "./inbound.ts";
import type { Mac } from "./mac.ts";
import { ownAddress } from "./own-address.ts";
import type { PaymentJournal } from "./payment-journal.ts";
import { tapbackOf } from "./reactions.ts";
import { isGroupChat, type MacChat, type MacMessage, parseMessage } from "./records.ts";
import { RetryLater, RowQueue, retryLater, type ShouldGiveUp } from "./row-queue.ts";

/** Messages of which it is remembered what was told; the one that was told of longest ago is told of once more. */
const TOLD_MAX = 20_000;

/** All that the Mac has of one message. */
const WHOLE = "chats,attachments,payload-data,message-summary-info";

export interface RowReporterOptions {
  mac: Mac;
  /** Of what is asked of the Mac. */
  limits: Limits;
  chatCache: ChatCache;
  payments: PaymentJournal;
  report: (signal: Signal) => Promise<Applied>;
  /** A contact's rows from before are old news; and those from before the instance was, altogether. */
  freshFrom: () => number;
  bornAt: () => number;
  /** The channel on which a message of ours went out, where that is followed. */
  channelOf: (guid: string) => Channel | null;
  /** A message of ours is known to be so far. */
  receiptReported: (receipt: ReceiptSignal) => void;
}

/** A contact's row with all that is needed to tell of it. */
interface ContactRow {
  row: MacMessage;
  place: Destination;
  /** Who wrote or did it; null where the row does not say. */
  from: string | null;
  isEnough: ShouldGiveUp;
}

export class RowReporter {
  readonly #options: RowReporterOptions;
  readonly #queue: RowQueue;
  /**
   * How far each message was told of: one of ours to the rank of its receipt, a contact's to its last change by the Mac's
   * clock, 0 for none. In memory, so that the same is not told a thousand times; a repeat does no harm.
   */
  readonly #reported = new Map<string, number>();

  constructor(options: RowReporterOptions) {
    const { clock, fault } = options.mac.context;
    this.#options = options;
    this.#queue = new RowQueue(clock, (row, isEnough) => this.#reportRow(row, isEnough), fault);
  }

  /** Takes a row as the Mac answered it; resolves as `Lanes.push`. Never throws. */
  ingest(row: MacMessage): Promise<boolean> {
    return this.#queue.push(row);
  }

  /** A message was sent from here: what its rows told before that was told to nobody. */
  messageSent(guid: string): void {
    this.#reported.delete(guid);
    this.#queue.markKnown(guid);
  }

  stop(): Promise<void> {
    return this.#queue.stop();
  }

  async #reportRow(row: MacMessage, isEnough: ShouldGiveUp): Promise<void> {
    const kind = kindOf(row);
    if (kind === "other") return;
    if (kind === "own") return this.#reportReceipt(row, isEnough);
    if (this.#newsOf(row, kind).length === 0) return;
    const whole = isTooLittle(row) ? await this.#wholeOf(row, isEnough) : row;
    // It was deleted meanwhile.
    if (whole === null) return;
    const place = await this.#destinationOf(whole, isEnough);
    if (place !== null) await this.#reportNews(whole, kind, place, isEnough);
    // Also where there was nobody to tell: it is not looked at again.
    this.#markReported(row.guid, changedAtOf(whole));
  }

  async #reportReceipt(row: MacMessage, isEnough: ShouldGiveUp): Promise<void> {
    const { mac, channelOf, report, receiptReported } = this.#options;
    const channel = channelOf(row.guid) ?? channelOfRow(row) ?? "imessage";
    for (const chat of row.chats) mac.chatGuids.learn(chat, channel);
    const receipt = receiptOf(row, channel, row.chats.some(isGroupChat));
    const rank = RECEIPT_RANK[receipt.receipt];
    if (rank <= (this.#reported.get(row.guid) ?? 0)) return;
    const applied = await report(receipt);
    // The answer to its send may be late; where it does not come, somebody typed it on the Mac.
    if (applied === "unknown" && !isEnough("nobodys"))
      throw new RetryLater("nobodys", "a message of ours is not known yet");
    this.#markReported(row.guid, rank);
    if (applied === "unknown") return;
    // That it was sent is known of the Mac alone, and a failure may be: neither shows that Apple is there.
    if (rank >= RECEIPT_RANK.delivered) mac.health.activitySeen();
    receiptReported(receipt);
  }

  /** What of a contact's row was not told; what came before this instance was, or long ago, is no news. */
  #newsOf(row: MacMessage, kind: ContactRowKind): RowSignal[] {
    const { freshFrom, bornAt } = this.#options;
    const told = this.#reported.get(row.guid);
    const { first, changed } = ROW_SIGNALS[kind];
    const news: RowSignal[] = [];
    if (told === undefined && !isOlderThan(row, freshFrom())) news.push(first);
    if (changed !== null && changedAtOf(row) > (told ?? 0) && !isOlderThan(row, bornAt())) news.push(changed);
    return news;
  }

  async #reportNews(row: MacMessage, kind: ContactRowKind, place: Destination, isEnough: ShouldGiveUp): Promise<void> {
    const from = row.handle?.address ?? (place.group === null ? row.chats[0]?.chatIdentifier : null) ?? null;
    for (const telling of this.#newsOf(row, kind)) {
      const signal = await this.#signals[telling]({ row, place, from, isEnough });
      if (signal === null) continue;
      await this.#options.report(signal);
      this.#options.mac.health.activitySeen();
      // Should its change not be kept, the message itself is not told again.
      this.#markReported(row.guid, 0);
    }
  }

  readonly #signals: Readonly<Record<RowSignal, (found: ContactRow) => Promise<Signal | null>>> = {
    inbound: (found) => this.#inbound(found),
    revision: async ({ row, place }) => revisionOf(row, place),
    reaction: (found) => this.#reaction(found),
    audioKept: async ({ row, place }) => audioKeptOf(row, place),
    group: (found) => this.#groupChange(found),
  };

  async #inbound({ row, place, from, isEnough }: ContactRow): Promise<Signal | null> {
    if (isRetracted(row)) return null;
    if (from === null) return this.#noSender();
    if (isEmpty(row) && !isEnough("empty"))
      throw new RetryLater("empty", "a message of a contact has nothing in it yet");
    return inboundOf(row, from, place, isPaymentRow(row) ? await this.#paymentOf(row) : null);
  }

  /** A payment that another message told of already has no amount. */
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
    this.#options.mac.context.fault(new PeerFault("a row of the Mac does not say whose it is"));
    return null;
  }

  /** All of a message; where the Mac keeps breaking at it, what there is, unless that does not say where it belongs. */
  async #wholeOf(row: MacMessage, isEnough: ShouldGiveUp): Promise<MacMessage | null> {
    try {
      return await this.#readWhole(row.guid);
    } catch (error) {
      if (!isBroken(error) || !isEnough("broken")) throw error;
      this.#options.mac.context.fault(error);
      return row.chats.length === 0 ? null : row;
    }
  }

  /** All of a message; null where the Mac has none with that guid. Throws `RetryLater`. */
  async #readWhole(guid: string): Promise<MacMessage | null> {
    const { mac, limits } = this.#options;
    const answer = await mac.client.get(`/message/${pathSegment(guid)}`, { with: WHOLE }, limits);
    if (answer.kind === "ok") return parseMessage(answer.data);
    if (isNotFound(answer)) return null;
    throw retryLater(answer);
  }

  async #textOf(guid: string): Promise<string | null> {
    try {
      const target = await this.#readWhole(guid);
      return target === null ? null : textOfRow(target);
    } catch {
      return null;
    }
  }

  /** Where a row came to; null where it is at none of our addresses. Throws `RetryLater`. */
  async #destinationOf(row: MacMessage, isEnough: ShouldGiveUp): Promise<Destination | null> {
    const { context, chatGuids } = this.#options.mac;
    const chat = row.chats[0];
    const to = await ownAddress(context, chat?.lastAddressedHandle ?? null);
    if (to === null) {
      context.fault(new PeerFault("something came to an address of the Mac that is no number of this instance"));
      return null;
    }
    const channel = channelOfRow(row) ?? "imessage";
    for (const one of row.chats) chatGuids.learn(one, channel);
    const group = chat !== undefined && isGroupChat(chat) ? await this.#groupOf(chat, isEnough) : null;
    return { to, channel, group };
  }

  /** A group with its people; where the Mac keeps breaking at it, without. */
  async #groupOf(chat: MacChat, isEnough: ShouldGiveUp): Promise<GroupSnapshot> {
    try {
      return await this.#options.chatCache.group(chat);
    } catch (error) {
      if (!isBroken(error) || !isEnough("broken")) throw error;
      return { reference: chat.guid, name: chat.displayName === "" ? null : chat.displayName, participants: [] };
    }
  }

  #markReported(guid: string, reach: number): void {
    setBounded(this.#reported, guid, reach, TOLD_MAX);
  }
}

/** Whether a row as queries answer it leaves out what is needed to tell of it: who is in it, a payment, all of a text. */
function isTooLittle(row: MacMessage): boolean {
  if (row.chats.length === 0 || (isPaymentRow(row) && row.payloadData === null)) return true;
  return kindOf(row) === "message" && isEmpty(row);
}

/** One without a date is new. */
function isOlderThan({ dateCreated }: MacMessage, at: number): boolean {
  return dateCreated !== null && dateCreated < at;
}

function isBroken(error: unknown): boolean {
  return error instanceof RetryLater && error.why === "broken";
}
