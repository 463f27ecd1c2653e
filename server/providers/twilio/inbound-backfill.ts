/** Asks for what contacts wrote and the hook did not hear: Twilio tells an inbound message once, and keeps it in its list. */

import type { Clock } from "../../clock.ts";
import { iso } from "../../core/instant.ts";
import { doublingMs } from "../../core/retry.ts";
import { type InboundAttachment, type OptOutSignal, PeerFault, type ProviderContext } from "../provider.ts";
import type { Api } from "./api.ts";
import { decide, floorOf, isOlder, OVERLAP_MS, oldestFirst, stopAfter } from "./backfill-rules.ts";
import { type InboundCursor, InboundCursors } from "./inbound-cursors.ts";
import { attachmentAt, inboundOfListed } from "./inbound-message.ts";
import type { InboundReceiver } from "./inbound-receiver.ts";
import { type CompleteList, failureOf, READ_TIMEOUT_MS, type ReadFailure, readList } from "./message-list.ts";
import { type MessageRecord, readMedia } from "./records.ts";

/** How often it is looked which numbers are here, which list is due, and whether the API is up; real milliseconds. */
const TICK_MS = 5_000;
/** From the end of one look at a list to the next, and so many more the more numbers there are: one question a second. */
const EVERY_MS = 60_000;
const PER_NUMBER_MS = 1_000;
/** A list that could not be read is due again after `EVERY_MS`, doubling while it goes on. */
const EVERY_MS_MAX = 3_600_000;
/** Messages on a page, and pages that are read of one list: what is longer is read day by day. */
const PAGE_SIZE = 200;
const PAGES_MAX = 100;
/** After so many messages of a list that could not be put on disk, the others wait, too. */
const UNKEPT_MAX = 3;
/** A message whose files cannot be listed waits for them while no more looks in a row have failed: about five hours. */
const PATIENCE = 10;
const DAY_MS = 86_400_000;

export interface InboundBackfillOptions {
  context: Pick<ProviderContext, "memory" | "clock" | "senders" | "fault">;
  api: Api;
  /** Of the account, without `.json`. */
  path: string;
  isUp: () => boolean;
  receiver: InboundReceiver;
}

/** Looks through the list of each number that sends over the instance, one after the other, from `start` on until `stop`. */
export class InboundBackfill {
  readonly #options: InboundBackfillOptions;
  readonly #clock: Clock;
  readonly #cursors: InboundCursors;
  /** When the list of a number is due, real, and how often in a row it could not be read. */
  readonly #due = new Map<string, { at: number; failures: number }>();
  /** Until when nothing is asked, since the account would not answer. */
  #pausedUntil = 0;
  #running: Promise<void> = Promise.resolve();
  #stopTimer = () => {};
  #stopped = false;

  constructor(options: InboundBackfillOptions) {
    this.#options = options;
    this.#clock = options.context.clock;
    this.#cursors = new InboundCursors(options.context.memory);
  }

  /** Resolves when it is known how far the processes before got; the first look begins then. */
  async start(): Promise<void> {
    await this.#cursors.load();
    this.#begin();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#stopTimer();
    await this.#running;
  }

  #begin(): void {
    this.#running = this.#tick()
      .then(() => TICK_MS)
      .catch((error: unknown) => {
        this.#options.context.fault(error);
        return EVERY_MS;
      })
      .then((waitMs) => {
        if (!this.#stopped) this.#stopTimer = this.#clock.after(waitMs, () => this.#begin());
      });
  }

  /** Looks through every list that is due, one after the other. */
  async #tick(): Promise<void> {
    await this.#refreshNumbers();
    const { numbers } = this.#cursors;
    for (const number of this.#due.keys()) if (this.#cursors.get(number) === null) this.#due.delete(number);
    for (const number of numbers) {
      if (this.#stopped || !this.#options.isUp() || this.#clock.real() < this.#pausedUntil) return;
      if (this.#clock.real() < (this.#due.get(number)?.at ?? 0)) continue;
      await this.#refreshNumbers();
      const trouble = await this.#backfill(number).catch(unkept);
      if (!this.#stopped) this.#schedule(number, trouble, numbers.length);
    }
  }

  /** Notices which numbers came, went, or are another customer's; between any two questions, since a round takes a while. */
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
    // Of an account that is down its health tells.
    if (!this.#options.isUp()) return;
    this.#options.context.fault(
      new PeerFault(`inbound messages of a number were not looked through: ${trouble.reason}`),
    );
  }

  /** Tells what came since the last look; null when all of it is on disk. */
  async #backfill(number: string): Promise<ReadFailure | null> {
    const mark = this.#cursors.get(number);
    if (mark === null) return null;
    // Before the first answer nobody knows how far the clocks are apart.
    const from = mark.heardAt === null ? mark.bornAt - DAY_MS : mark.heardAt - OVERLAP_MS;
    const whole = await this.#backfillList(number, { "DateSent>": dayOf(from) });
    if (whole?.failure !== "length") return whole;
    let tooLong: ReadFailure | null = null;
    for (let at = from; dayOf(at) <= dayOf(this.#clock.real() + DAY_MS); at += DAY_MS) {
      const trouble = await this.#backfillList(number, { DateSent: dayOf(at) });
      // Such a day is never taken in, and must not keep the later ones out.
      if (trouble?.failure === "length") tooLong = trouble;
      else if (trouble !== null) return trouble;
    }
    return tooLong;
  }

  /** Reads one list, and tells what is news in it. The mark moves when, and only when, all of it is on disk. */
  async #backfillList(number: string, span: Record<string, string>): Promise<ReadFailure | null> {
    const { api, path } = this.#options;
    const mark = this.#cursors.get(number);
    if (mark === null) return null;
    const query = new URLSearchParams({ To: number, ...span, PageSize: String(PAGE_SIZE) });
    const read = await readList(
      { api, clock: this.#clock },
      {
        path: `${path}/Messages.json?${query}`,
        pagesMax: PAGES_MAX,
        isEnough: (page, aheadMs) => isOlder(page, floorOf(mark, aheadMs)),
      },
    );
    if ("failure" in read) return read;
    const now = this.#clock.real() + (read.aheadMs ?? 0);
    const trouble = await this.#reportNew(number, mark, { ...read, now });
    if (trouble !== null) return trouble;
    // A date in the future would hide all that comes before it.
    const newest = Math.min(now, Math.max(...read.messages.map(({ createdAt }) => createdAt ?? 0)));
    await this.#cursors.advance(number, mark, newest);
    return null;
  }

  /** Tells the news of a list, the oldest first. One that cannot be told keeps none after it from being told. */
  async #reportNew(
    number: string,
    mark: InboundCursor,
    read: CompleteList & { now: number },
  ): Promise<ReadFailure | null> {
    const { messages, aheadMs, now } = read;
    const isReported = (sid: string) => this.#options.receiver.has(sid);
    const known = { number, floor: floorOf(mark, aheadMs), now, isReported };
    const isPatient = (this.#due.get(number)?.failures ?? 0) < PATIENCE;
    const troubles: ReadFailure[] = [];
    for (const message of oldestFirst(messages)) {
      if (this.#stopped) return STOPPED;
      if (decide(message, known) !== "tell") continue;
      await this.#refreshNumbers();
      // The number may be another customer's by now, and what was written before is none of theirs.
      if (this.#cursors.get(number) !== mark) return null;
      const trouble = await this.#reportOne(message, { isPatient, aheadMs, stop: stopAfter(message, messages) });
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
    // Its files took a while: the hook may have told it meanwhile.
    if (inbound === null || this.#options.receiver.has(inbound.reference)) return null;
    const writtenAt = (message.createdAt ?? 0) - (aheadMs ?? 0);
    return this.#options.receiver.receiveLate(inbound, { writtenAt, stop }).then(() => null, unkept);
  }

  /** The files of a message under the names that its webhook would give them; fetched when somebody wants them. */
  async #filesOf(
    { sid, mediaCount, mediaPath }: MessageRecord,
    isPatient: boolean,
  ): Promise<readonly InboundAttachment[] | ReadFailure> {
    if (mediaCount === 0) return [];
    const { api, path } = this.#options;
    const list = mediaPath ?? `${path}/Messages/${sid}/Media.json`;
    const answer = await api.request({ method: "GET", path: list, timeoutMs: READ_TIMEOUT_MS });
    // Somebody deleted them there.
    if (!("noResponse" in answer) && answer.status === 404) return [];
    const files = "noResponse" in answer || answer.status !== 200 ? null : readMedia(answer.body);
    if (files !== null) return files.map((file) => attachmentAt(api.addressOf(file.path), file.mimeType));
    const trouble = failureOf(answer, this.#clock.real());
    return trouble.failure === "question" && !isPatient ? [] : trouble;
  }
}

const STOPPED: ReadFailure = { failure: "account", waitMs: null, reason: "the provider stopped" };

/** What is to be told, or how far that got, could not be put on disk. */
function unkept(error: unknown): ReadFailure {
  return { failure: "disk", waitMs: null, reason: `what was heard could not be kept (${String(error)})` };
}

/** The day of an instant in Greenwich, by which the list is asked for. */
function dayOf(at: number): string {
  return iso(at).slice(0, 10);
}
