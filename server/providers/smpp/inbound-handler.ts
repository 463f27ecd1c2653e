/** Handles messages from contacts: each one once, complete, and on disk before the SMSC gets its response. */

import { createHash } from "node:crypto";
import type { Clock } from "../../clock.ts";
import { maskAddress } from "../../core/phone.ts";
import { RepeatingTask } from "../../core/repeating-task.ts";
import { RecentCount } from "../kit/recent-count.ts";
import { retryDelayMs, type SignalOutbox } from "../kit/signal-outbox.ts";
import type { InboundSignal, Memory, OwnAddress, ProviderContext } from "../provider.ts";
import { incomingAddress, ownAddress } from "./address.ts";
import { ContentReader } from "./content.ts";
import type { Traffic } from "./health.ts";
import { ActiveSessions, InboundJournal, type SessionState } from "./inbound-journal.ts";
import type { DataSm, DeliverSm } from "./pdu.ts";
import { type AssembledMessage, Reassembly } from "./reassembly.ts";
import type { SmppSettings } from "./settings.ts";
import { ESME_ROK, ESME_RX_T_APPN } from "./status.ts";
import type { PartOctets } from "./text.ts";
import { readUserData } from "./user-data.ts";

/** A message that could not be stored for this time is refused if the store accepted others in that time. */
const REFUSED_AFTER_MS = 5_000;
/** How often to look for parts and journal entries that have expired. */
const SWEEP_MS = 10_000;

interface InboundHandlerParts {
  memory: Memory;
  clock: Clock;
  outbox: SignalOutbox;
  settings: SmppSettings;
  numbers: () => Promise<readonly OwnAddress[]>;
  isNumber: ProviderContext["isNumber"];
  fault: (error: unknown) => void;
}

/** The contact's address and ours. */
type InboundAddresses = Pick<InboundSignal, "from" | "to">;

export class InboundHandler {
  readonly #parts: InboundHandlerParts;
  readonly #journal: InboundJournal;
  readonly #reassembly: Reassembly;
  readonly #contents: ContentReader;
  readonly #unaddressed: RecentCount;
  #unaddressedTo = "";
  readonly #sessions = new ActiveSessions();
  readonly #sweeps: RepeatingTask;

  constructor(parts: InboundHandlerParts) {
    this.#parts = parts;
    this.#journal = new InboundJournal(parts.memory, parts.clock);
    this.#unaddressed = new RecentCount(parts.clock);
    this.#contents = new ContentReader(parts.settings, parts.clock);
    this.#reassembly = new Reassembly(parts.memory, parts.clock, (message) => this.#reportAssembled(message));
    const { clock, fault } = parts;
    this.#sweeps = new RepeatingTask({ clock, run: () => this.#sweep(), fault, retryMs: SWEEP_MS });
  }

  /** Recent messages to an address that is no number of the service, and the end of the last address; nobody gets them. */
  get unaddressed(): Traffic["unaddressed"] {
    return { count: this.#unaddressed.value, to: this.#unaddressedTo };
  }

  /** See `ContentReader`. */
  get foreign(): number {
    return this.#contents.foreign;
  }

  /** Loads the state that the previous process left. */
  async load(): Promise<void> {
    await Promise.all([this.#journal.load(), this.#reassembly.load()]);
    this.#sweepLater();
  }

  /**
   * Resolves with the command_status for the response once the message is on disk. Null: no response, so that the SMSC
   * repeats the message on its next session.
   */
  async handle(pdu: DeliverSm | DataSm, session: SessionState): Promise<number | null> {
    this.#sessions.note(session, this.#parts.clock.real());
    const { octets, shifts, piece } = readUserData(pdu);
    const part = { dataCoding: pdu.dataCoding, octets, shifts };
    if (piece === null) return await this.#handleWhole(pdu, part, session);
    const arrival = { session, arrivedAt: this.#parts.clock.real() };
    const add = async () => this.#reassembly.add(await this.#endsOf(pdu), piece, part, arrival);
    const hadRoom = await this.#retryUntilStored(session, add);
    this.#sweepLater();
    if (typeof hadRoom === "string") return hadRoom === "refused" ? ESME_RX_T_APPN : null;
    return hadRoom ? ESME_ROK : ESME_RX_T_APPN;
  }

  async #endsOf(pdu: DeliverSm | DataSm): Promise<InboundAddresses> {
    const { settings, numbers } = this.#parts;
    const own = await numbers();
    return {
      from: incomingAddress(pdu.source, settings.defaultCountryCode),
      to: recipientOf(pdu, own, settings),
    };
  }

  stop(): Promise<void> {
    return this.#sweeps.stop();
  }

  /** Handles a message of one part. */
  async #handleWhole(pdu: DeliverSm | DataSm, part: PartOctets, session: SessionState): Promise<number | null> {
    const entry = this.#journal.begin(digestOf(pdu, part), session);
    this.#sweepLater();
    const report = async () => {
      await this.#journal.keep(entry);
      await this.#report(this.#signalOf(entry.reference, await this.#endsOf(pdu), [part]));
      return "taken" as const;
    };
    const taken = await this.#retryUntilStored(session, report);
    if (taken === "unanswered") return null;
    this.#journal.answered(entry, taken);
    return taken === "taken" ? ESME_ROK : ESME_RX_T_APPN;
  }

  /**
   * Repeats `take` until the store has accepted the message. Some gateways drop a refused message for good, whatever
   * the status. So while the store accepts nothing, the message stays unanswered for as long as the session is bound,
   * and the SMSC keeps it. If only this message fails for 5 s while the store accepts others, it is `refused`, since it
   * would block the rest.
   */
  async #retryUntilStored<Taken>(
    session: SessionState,
    take: () => Promise<Taken>,
  ): Promise<Taken | "refused" | "unanswered"> {
    const { clock, outbox } = this.#parts;
    const began = clock.real();
    for (let tries = 0; ; tries += 1) {
      const triedAt = clock.real();
      try {
        return await take();
      } catch {
        if (triedAt - began >= REFUSED_AFTER_MS && outbox.lastAcceptedAt > began) return "refused";
      }
      await outbox.pause(retryDelayMs(tries));
      if (outbox.isEnding || !session.isBound) return "unanswered";
    }
  }

  async #reportAssembled({ reference, from, to, parts }: AssembledMessage): Promise<void> {
    await this.#report(this.#signalOf(reference, { from, to }, parts));
  }

  async #report(signal: InboundSignal): Promise<void> {
    const { outbox, isNumber } = this.#parts;
    const isOurs = await isNumber(signal.to);
    await outbox.report(signal);
    if (isOurs) return;
    this.#unaddressed.note();
    this.#unaddressedTo = maskAddress(signal.to);
  }

  #signalOf(reference: string, ends: InboundAddresses, parts: readonly (PartOctets | null)[]): InboundSignal {
    const { text, binary } = this.#contents.read(parts);
    const file = {
      reference: `${reference}/0`,
      mimeType: "application/octet-stream",
      filename: "message.bin",
      totalBytes: binary.length,
      data: binary,
    };
    return {
      kind: "inbound",
      reference,
      ...ends,
      channel: "sms",
      group: null,
      text,
      attachments: binary.length === 0 ? [] : [file],
      replyTo: null,
      payment: null,
      effect: null,
    };
  }

  #sweepLater(): void {
    if (this.#sweeps.isIdle && !this.#isEmpty) this.#sweeps.schedule(SWEEP_MS);
  }

  /** Deletes expired parts and journal entries, from time to time while there are any. */
  async #sweep(): Promise<number | null> {
    const since = this.#sessions.since();
    await this.#journal.sweep(since);
    await this.#reassembly.sweep(since);
    return this.#isEmpty ? null : SWEEP_MS;
  }

  get #isEmpty(): boolean {
    return this.#journal.size + this.#reassembly.size === 0;
  }
}

/** Finds our address in the destination, however the SMSC writes it. */
function recipientOf({ destination }: DeliverSm | DataSm, own: readonly OwnAddress[], settings: SmppSettings): string {
  const { sourceAddress, defaultCountryCode } = settings;
  if (sourceAddress !== null && destination.address === sourceAddress.replace(/^\+/, "")) {
    const standsFor = own.find(({ isDefault }) => isDefault) ?? own[0];
    if (standsFor !== undefined) return standsFor.address;
  }
  const address = incomingAddress(destination, defaultCountryCode);
  const addresses = own.map((one) => one.address);
  return ownAddress(address, addresses) ?? ownAddress(destination.address, addresses) ?? address;
}

/** A digest of the content, equal for a deliver_sm and its repetition. */
function digestOf(
  { source, destination, esmClass, tlvs }: DeliverSm | DataSm,
  { dataCoding, octets, shifts }: PartOctets,
): string {
  const hash = createHash("sha256");
  hash.update(JSON.stringify([source, destination, esmClass, dataCoding]));
  for (const [tag, value] of [...tlvs].sort(([a], [b]) => a - b)) hash.update(`\n${tag} `).update(value);
  if (shifts != null) hash.update(JSON.stringify([shifts.locking, shifts.single]));
  return hash.update("\n").update(octets).digest("base64url");
}
