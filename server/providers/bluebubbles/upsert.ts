/** One upsert by guid: whatever tells of a row of the Mac's messages, and however often, ends in it. */

import type { Channel } from "../../../sdk/wire.ts";
import type { Applied, GroupSighting, ReceiptSignal, Signal } from "../provider.ts";
import { type AppleCash, readAppleCash } from "./apple-cash.ts";
import type { CashLedger } from "./cash-ledger.ts";
import { type Limits, segment } from "./client.ts";
import { Held } from "./held.ts";
import {
  audioKeptOf,
  channelOfRow,
  groupChangeOf,
  inboundOf,
  isEmpty,
  isPaymentRow,
  isRetracted,
  kindOf,
  type Place,
  RECEIPT_RANK,
  type RowKind,
  reactionOfRow,
  receiptOf,
  revisionOf,
  textOfRow,
} from "./inbound.ts";
import { Broken, Lanes, NotYet, notYet, type Source } from "./lanes.ts";
import type { Mac } from "./mac.ts";
import { ownAddress } from "./own-address.ts";
import { tapbackOf } from "./reactions.ts";
import { isGroupChat, type MacChat, type MacMessage, parseMessage } from "./records.ts";
import type { Sightings } from "./sightings.ts";
import { Told } from "./told.ts";

/** A row may be there before its text and its files are: so often it is looked at again. */
const EMPTY_TRIES = 3;
/** So often, over some minutes, the Mac is asked again for what it breaks at: others of the contact wait for it. */
const BROKEN_TRIES = 8;

/** All that the Mac has of one message. */
const WHOLE = "chats,attachments,payload-data,message-summary-info";

export interface UpsertOptions {
  mac: Mac;
  /** Of what is asked of the Mac. */
  limits: Limits;
  sightings: Sightings;
  cash: CashLedger;
  tell: (signal: Signal) => Promise<Applied>;
  /** A contact's rows from before are old news; and those from before the instance was, altogether. */
  freshFrom: () => number;
  bornAt: () => number;
  /** The channel on which a message of ours went out, where that is followed. */
  channelOf: (guid: string) => Channel | null;
  /** A message of ours is known to be so far. */
  reached: (receipt: ReceiptSignal) => void;
}

export class Upsert {
  readonly #options: UpsertOptions;
  readonly #told = new Told();
  readonly #held: Held;
  readonly #lanes: Lanes;

  constructor(options: UpsertOptions) {
    const { clock, fault } = options.mac.context;
    this.#options = options;
    this.#lanes = new Lanes(clock, (row, source, failures) => this.#tellRow(row, source, failures), fault);
    this.#held = new Held({
      clock,
      tell: (receipt) => options.tell(receipt),
      ended: (receipt, applied) => this.#receiptEnded(receipt, applied),
    });
  }

  /** Takes a row as it was read; resolves true once all that it tells is on disk. Never throws. */
  take(row: MacMessage, source: Source): Promise<boolean> {
    return this.#lanes.push(row, source);
  }

  /** A message was sent from here: what its rows told before that counts now. */
  sent(guid: string): void {
    this.#told.claim(guid);
    this.#held.release(guid);
  }

  async stop(): Promise<void> {
    this.#held.stop();
    await this.#lanes.stop();
  }

  async #tellRow(row: MacMessage, source: Source, failures: number): Promise<void> {
    const kind = kindOf(row);
    if (kind === "other") return;
    // Anybody could have posted to the hook, and what failed is sent another way: the Mac's own word counts.
    const isDoubtful = kind === "own" && source === "hook" && row.error !== 0;
    if (kind === "own" && !isDoubtful) return this.#tellReceipt(row, source);
    if (kind !== "own" && !this.#hasNews(row, kind)) return;
    if (isDoubtful || (await this.#isTooLittle(row, source))) {
      const whole = await this.#wholeOf(row, source, failures);
      // Not on the Mac: it was deleted meanwhile, or never there, and somebody made it up.
      return whole === null ? undefined : this.#tellRow(whole, "message", failures);
    }
    const place = await this.#placeOf(row, source, failures);
    if (place !== null) await this.#tellWhat(kind, row, place, failures);
    // Also where there was nothing to tell: it is not looked at again.
    this.#told.of(row.guid).isTold = true;
  }

  async #tellWhat(kind: RowKind, row: MacMessage, place: Place, failures: number): Promise<void> {
    if (kind === "group") return this.#tellGroupChange(row, place);
    if (kind === "audioKept") return this.#tellAudioKept(row, place);
    const from = row.handle?.address ?? (place.group === null ? row.chats[0]?.chatIdentifier : null) ?? null;
    if (from === null) return this.#options.mac.context.fault(new Error("a row of the Mac does not say whose it is"));
    if (kind === "reaction") return this.#tellReaction(row, from, place);
    await this.#tellMessage(row, from, place, failures);
    return this.#tellRevision(row, place);
  }

  async #tellReceipt(row: MacMessage, source: Source): Promise<void> {
    const { guid } = row;
    const channel = this.#options.channelOf(guid) ?? channelOfRow(row) ?? "imessage";
    this.#learnChat(row, channel, source);
    const receipt = receiptOf(row, channel, row.chats.some(isGroupChat));
    if (this.#told.of(guid).rank >= RECEIPT_RANK[receipt.receipt]) return;
    const applied = await this.#options.tell(receipt);
    if (applied === "unknown") this.#held.hold(receipt);
    else this.#receiptEnded(receipt, applied);
  }

  /** It counts as told when nobody knows the message, too: then it was typed on the Mac by hand. */
  #receiptEnded(receipt: ReceiptSignal, applied: Applied): void {
    const telling = this.#told.of(receipt.reference);
    telling.rank = Math.max(telling.rank, RECEIPT_RANK[receipt.receipt]);
    telling.isNobodys = applied === "unknown";
    if (applied === "unknown") return;
    // That it was sent is known of the Mac alone, and a failure may be: neither shows that Apple is there.
    if (telling.rank >= RECEIPT_RANK.delivered) this.#options.mac.health.progress();
    this.#options.reached(receipt);
  }

  async #tellMessage(row: MacMessage, from: string, place: Place, failures: number): Promise<void> {
    if (this.#told.of(row.guid).isTold || !this.#isFresh(row) || isRetracted(row)) return;
    if (isEmpty(row) && failures < EMPTY_TRIES) throw new NotYet("a message of a contact has nothing in it yet");
    const cash = isPaymentRow(row) ? await this.#cashOf(row) : null;
    await this.#tell(inboundOf(row, from, place, cash));
    this.#told.of(row.guid).isTold = true;
  }

  /** A payment that another message told of already has no amount. */
  async #cashOf(row: MacMessage): Promise<AppleCash> {
    const cash = readAppleCash(row.payloadData, row.text);
    const counts = cash.kind !== "payment" || (await this.#options.cash.claim(cash.transactionId, row.guid));
    return counts ? cash : { ...cash, amountCents: null };
  }

  async #tellRevision(row: MacMessage, place: Place): Promise<void> {
    const revision = revisionOf(row, place);
    if (revision === null || !this.#isChanged(row)) return;
    await this.#tell(revision);
    this.#told.of(row.guid).changedAt = changedAt(row);
  }

  async #tellReaction(row: MacMessage, from: string, place: Place): Promise<void> {
    const tapback = tapbackOf(row);
    if (tapback === null) return;
    const targetText = textOfRow(row) === null ? await this.#textOf(tapback.target) : null;
    await this.#tell(reactionOfRow(row, tapback, from, place, targetText));
  }

  async #tellAudioKept(row: MacMessage, place: Place): Promise<void> {
    const signal = audioKeptOf(row, place);
    if (signal !== null) await this.#tell(signal);
  }

  async #tellGroupChange(row: MacMessage, place: Place): Promise<void> {
    const { sightings } = this.#options;
    const chat = row.chats[0];
    if (chat === undefined || place.group === null) return;
    sightings.forget(chat.guid);
    const group = await sightings.group(chat);
    const signal = groupChangeOf(row, { ...place, group }, sightings.addressOf(row.otherHandle));
    if (signal !== null) await this.#tell(signal);
  }

  async #tell(signal: Signal): Promise<void> {
    await this.#options.tell(signal);
    this.#options.mac.health.progress();
  }

  /** Whether a contact's row leaves out what is needed to tell of it, or is to be read from the Mac itself first. */
  async #isTooLittle(row: MacMessage, source: Source): Promise<boolean> {
    if (source === "message") return false;
    if (row.chats.length === 0) return true;
    // Anybody could have posted to the hook: what is worth money is read where it cannot be made up.
    if (isPaymentRow(row) && (source === "hook" || row.payloadData === null)) return true;
    if (kindOf(row) === "message" && isEmpty(row)) return true;
    if (row.chats[0]?.lastAddressedHandle !== null) return false;
    return (await this.#options.mac.context.numbers()).length > 1;
  }

  /** All of a message; where the Mac keeps breaking at it, what there is, unless anybody could have said so. */
  async #wholeOf(row: MacMessage, source: Source, failures: number): Promise<MacMessage | null> {
    try {
      return await this.#readWhole(row.guid);
    } catch (error) {
      if (!(error instanceof Broken) || failures < BROKEN_TRIES) throw error;
      this.#options.mac.context.fault(error);
      return source === "hook" || row.chats.length === 0 ? null : row;
    }
  }

  /** All of a message; null where the Mac has none with that guid. Throws `NotYet`. */
  async #readWhole(guid: string): Promise<MacMessage | null> {
    const { mac, limits } = this.#options;
    const answer = await mac.client.get(`/message/${segment(guid)}`, { with: WHOLE }, limits);
    if (answer.kind === "ok") return parseMessage(answer.data);
    if (answer.kind === "answered" && answer.status === 404 && answer.type !== null) return null;
    throw notYet(answer);
  }

  async #textOf(guid: string): Promise<string | null> {
    try {
      const target = await this.#readWhole(guid);
      return target === null ? null : textOfRow(target);
    } catch {
      return null;
    }
  }

  /** Where a row came to; null where it is at none of our addresses. Throws `NotYet`. */
  async #placeOf(row: MacMessage, source: Source, failures: number): Promise<Place | null> {
    const { context } = this.#options.mac;
    const chat = row.chats[0];
    const to = await ownAddress(context, chat?.lastAddressedHandle ?? null);
    if (to === null) {
      context.fault(new Error("something came to an address of the Mac that is no number of this instance"));
      return null;
    }
    const channel = channelOfRow(row) ?? "imessage";
    this.#learnChat(row, channel, source);
    const group = chat !== undefined && isGroupChat(chat) ? await this.#groupOf(chat, failures) : null;
    return { to, channel, group };
  }

  /** A group with its people; where the Mac keeps breaking at it, without. */
  async #groupOf(chat: MacChat, failures: number): Promise<GroupSighting> {
    try {
      return await this.#options.sightings.group(chat);
    } catch (error) {
      if (!(error instanceof Broken) || failures < BROKEN_TRIES) throw error;
      return { reference: chat.guid, name: chat.displayName === "" ? null : chat.displayName, participants: [] };
    }
  }

  /** Anybody could have posted to the hook: where our messages go is learned from the Mac itself. */
  #learnChat(row: MacMessage, channel: Channel, source: Source): void {
    if (source === "hook") return;
    for (const chat of row.chats) this.#options.mac.chats.learn(chat, channel);
  }

  /** Whether a contact's row says what was not told; what came before this instance was, or long ago, is no news. */
  #hasNews(row: MacMessage, kind: RowKind): boolean {
    if (!this.#told.of(row.guid).isTold && this.#isFresh(row)) return true;
    return kind === "message" && this.#isChanged(row);
  }

  #isChanged(row: MacMessage): boolean {
    return changedAt(row) > this.#told.of(row.guid).changedAt && !this.#isOlderThan(row, this.#options.bornAt());
  }

  #isFresh(row: MacMessage): boolean {
    return !this.#isOlderThan(row, this.#options.freshFrom());
  }

  /** One without a date is new. */
  #isOlderThan({ dateCreated }: MacMessage, at: number): boolean {
    return dateCreated !== null && dateCreated < at;
  }
}

/** When a contact's message was changed or taken back last, by the Mac's clock; 0: never. */
function changedAt({ dateEdited, dateRetracted }: MacMessage): number {
  return Math.max(dateEdited ?? 0, dateRetracted ?? 0);
}
