/**
 * Reads inbound messages that the hook missed: Twilio calls the hook once for a message, and keeps the message in its
 * list.
 */

import type { Clock } from "../../clock.ts";
import type { InboundAttachment } from "../../core/attachment.ts";
import { iso } from "../../core/instant.ts";
import { RepeatingTask } from "../../core/repeating-task.ts";
import { doublingMs } from "../../core/retry.ts";
import { type OptOutSignal, PeerFault, type ProviderContext } from "../provider.ts";
import type { Api } from "./api.ts";
import { decide, floorOf, isOlder, OVERLAP_MS, oldestFirst, stopAfter } from "./backfill-rules.ts";
import { type InboundCursor, InboundCursors } from "./inbound-cursors.ts";
import { attachmentAt, inboundOfListed } from "./inbound-message.ts";
import type { InboundReceiver } from "./inbound-receiver.ts";
import { type CompleteList, failureOf, READ_TIMEOUT_MS, type ReadFailure, readList } from "./message-list.ts";
import { type MessageRecord, readMedia } from "./records.ts";

/** How often to check the numbers, the due lists and the API's state, in real milliseconds. */
const TICK_MS = 5_000;
/** The pause between two reads of a list, and a minimum per number: one request a second. */
const EVERY_MS = 60_000;
const PER_NUMBER_MS = 1_000;
/** The pause after a failed read begins at `EVERY_MS`, and doubles up to this. */
const EVERY_MS_MAX = 3_600_000;
/** Messages on a page, and the most pages of one list. A longer list is read day by day. */
const PAGE_SIZE = 200;
const PAGES_MAX = 100;
/** The read of a list ends after so many messages that could not be stored. */
const UNKEPT_MAX = 3;
/**
 * After so many failed reads in a row (about five hours), a message is reported without the files that cannot be
 * listed.
 */
const PATIENCE = 10;
const DAY_MS = 86_400_000;

export interface InboundBackfillOptions {
  context: Pick<ProviderContext, "memory" | "clock" | "senders" | "fault" | "optOutWordsAt">;
  api: Api;
  /** The account's path, without `.json`. */
  path: string;
  isUp: () => boolean;
  receiver: InboundReceiver;
}

/** Reads the list of each number that sends over the instance, one after the other, from `start` until `stop`. */
export class InboundBackfill {
  readonly #options: InboundBackfillOptions;
  readonly #clock: Clock;
  readonly #cursors: InboundCursors;
  /** When a number's list is due, by the real clock, and its failed reads in a row. */
  readonly #due = new Map<string, { at: number; failures: number }>();
  /** No request before this: the account would refuse it. */
  #pausedUntil = 0;
  readonly #rounds: RepeatingTask;

  constructor(options: InboundBackfillOptions) {
    this.#options = options;
    this.#clock = options.context.clock;
    this.#cursors = new InboundCursors(options.context.memory);
    const { clock, fault } = options.context;
    this.#rounds = new RepeatingTask({ clock, run: () => this.#round(), fault, retryMs: EVERY_MS });
  }

  /** Resolves when the cursors are loaded, and begins the first read. */
  async start(): Promise<void> {
    await this.#cursors.load();
    void this.#rounds.run();
  }

  stop(): Promise<void> {
    return this.#rounds.stop();
  }

  /** Reads every list that is due, one after the other. */
  async #round(): Promise<number> {
    await this.#refreshNumbers();
    const { numbers } = this.#cursors;
    for (const number of this.#due.keys()) if (this.#cursors.get(number) === null) this.#due.delete(number);
    for (const number of numbers) {
      if (this.#isStopped || !this.#options.isUp() || this.#clock.real() < this.#pausedUntil) break;
      if (this.#clock.real() < (this.#due.get(number)?.at ?? 0)) continue;
      await this.#refreshNumbers();
      const trouble = await this.#backfill(number).catch(unkept);
      if (!this.#isStopped) this.#schedule(number, trouble, numbers.length);
    }
    return TICK_MS;
  }

  get #isStopped(): boolean {
    return this.#rounds.isStopped;
  }

  /** Updates the numbers and their customers. Called between any two requests, since a round takes a while. */
  async #refreshNumbers(): Promise<void> {
    await this.#cursors.setNumbers(await this.#options.context.senders(), this.#clock.real());
  }

  #schedule(number: string, trouble: ReadFailure | null, numbers: number): void {
    const now = this.#clock.real();
    const failures = trouble === null ? 0 : (this.#due.get(number)?.failures ?? 0) + 1;
    const waitMs = Math.max(doublingMs(failures, EVERY_MS, EVERY_MS_MAX), numbers * PER_NUMBER_MS);
    this.#due.set(number, { at: now + waitMs, failures });
    if (trouble === null) return;
    if (trouble.failure === "account") this.#pausedUntil = now + Math.max(EVERY_MS, trouble.waitMs ?? 0);
    // The health of the instance shows an account that is down.
    if (!this.#options.isUp()) return;
    this.#options.context.fault(new PeerFault(`the inbound messages of a number could not be read: ${trouble.reason}`));
  }

  /** Reports the messages since the last read. Null if all of them are on disk. */
  async #backfill(number: string): Promise<ReadFailure | null> {
    const cursor = this.#cursors.get(number);
    if (cursor === null) return null;
    // Until the first response nobody knows how far the clocks differ.
    const from = cursor.readUntil === null ? cursor.bornAt - DAY_MS : cursor.readUntil - OVERLAP_MS;
    const whole = await this.#backfillList(number, { "DateSent>": dayOf(from) });
    if (whole?.failure !== "length") return whole;
    let tooLong: ReadFailure | null = null;
    for (let at = from; dayOf(at) <= dayOf(this.#clock.real() + DAY_MS); at += DAY_MS) {
      const trouble = await this.#backfillList(number, { DateSent: dayOf(at) });
      // A day with too many messages is never finished, and must not block the later ones.
      if (trouble?.failure === "length") tooLong = trouble;
      else if (trouble !== null) return trouble;
    }
    return tooLong;
  }

  /** Reads one list and reports its new messages. The cursor moves only if all of them are on disk. */
  async #backfillList(number: string, span: Record<string, string>): Promise<ReadFailure | null> {
    const { api, path } = this.#options;
    const cursor = this.#cursors.get(number);
    if (cursor === null) return null;
    const query = new URLSearchParams({ To: number, ...span, PageSize: String(PAGE_SIZE) });
    const read = await readList(
      { api, clock: this.#clock },
      {
        path: `${path}/Messages.json?${query}`,
        pagesMax: PAGES_MAX,
        isEnough: (page, aheadMs) => isOlder(page, floorOf(cursor, aheadMs)),
      },
    );
    if ("failure" in read) return read;
    const now = this.#clock.real() + (read.aheadMs ?? 0);
    const trouble = await this.#reportNew(number, cursor, { ...read, now });
    if (trouble !== null) return trouble;
    // A date in the future would hide all messages before it.
    const newest = Math.min(now, Math.max(...read.messages.map(({ createdAt }) => createdAt ?? 0)));
    await this.#cursors.advance(number, cursor, newest);
    return null;
  }

  /** Reports new messages, the oldest first. A message that cannot be reported does not block the others. */
  async #reportNew(
    number: string,
    cursor: InboundCursor,
    read: CompleteList & { now: number },
  ): Promise<ReadFailure | null> {
    const { messages, aheadMs, now } = read;
    const isReported = (sid: string) => this.#options.receiver.has(sid);
    const known = { number, floor: floorOf(cursor, aheadMs), now, isReported };
    const isPatient = (this.#due.get(number)?.failures ?? 0) < PATIENCE;
    const words = await this.#options.context.optOutWordsAt(number);
    const troubles: ReadFailure[] = [];
    for (const message of oldestFirst(messages)) {
      if (this.#isStopped) return STOPPED;
      if (decide(message, known) !== "report") continue;
      await this.#refreshNumbers();
      // The number may have a new customer, who must not get the messages from before.
      if (this.#cursors.get(number) !== cursor) return null;
      const trouble = await this.#reportOne(message, { isPatient, aheadMs, stop: stopAfter(message, messages, words) });
      if (trouble !== null) troubles.push(trouble);
      const onDisk = troubles.filter((one) => one.failure === "disk");
      if (trouble?.failure === "account" || onDisk.length === UNKEPT_MAX) break;
    }
    return troubles.at(-1) ?? null;
  }

  async #reportOne(
    message: MessageRecord,
    { isPatient, aheadMs, stop }: { isPatient: boolean; aheadMs: number | null; stop: OptOutSignal | null },
  ): Promise<ReadFailure | null> {
    const files = await this.#filesOf(message, isPatient);
    if ("failure" in files) return files;
    const inbound = inboundOfListed(message, files);
    // Reading the files takes a while, and the hook may have reported the message in that time.
    if (inbound === null || this.#options.receiver.has(inbound.reference)) return null;
    const writtenAt = (message.createdAt ?? 0) - (aheadMs ?? 0);
    return this.#options.receiver.receiveLate(inbound, { writtenAt, stop }).then(() => null, unkept);
  }

  /** The files of a message, with the references that its webhook would have; fetched on demand. */
  async #filesOf(
    { sid, mediaCount, mediaPath }: MessageRecord,
    isPatient: boolean,
  ): Promise<readonly InboundAttachment[] | ReadFailure> {
    if (mediaCount === 0) return [];
    const { api, path } = this.#options;
    const list = mediaPath ?? `${path}/Messages/${sid}/Media.json`;
    const answer = await api.request({ method: "GET", path: list, timeoutMs: READ_TIMEOUT_MS });
    // The files were deleted at Twilio.
    if (!("noResponse" in answer) && answer.status === 404) return [];
    const files = "noResponse" in answer || answer.status !== 200 ? null : readMedia(answer.body);
    if (files !== null) return files.map((file) => attachmentAt(api.addressOf(file.path), file.mimeType));
    const trouble = failureOf(answer, this.#clock.real());
    return trouble.failure === "question" && !isPatient ? [] : trouble;
  }
}

const STOPPED: ReadFailure = { failure: "account", waitMs: null, reason: "the provider stopped" };

/** A message or the cursor could not be written to disk. */
function unkept(error: unknown): ReadFailure {
  return { failure: "disk", waitMs: null, reason: `a message could not be stored (${String(error)})` };
}

/** The UTC day of an instant, as the list's filter wants it. */
function dayOf(at: number): string {
  return iso(at).slice(0, 10);
}
