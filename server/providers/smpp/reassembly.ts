/** Joins the parts of inbound messages. Parts are on disk until the message is complete or has waited too long. */

import { createHash } from "node:crypto";
import type { Clock } from "../../clock.ts";
import type { NationalShifts } from "../../core/gsm-national.ts";
import { jsonOf, numberOf, recordOf, textOf } from "../../core/loose-json.ts";
import { SerialQueue } from "../../core/serial-queue.ts";
import { Journal } from "../kit/journal.ts";
import type { Memory } from "../provider.ts";
import { hasArrived, isGivenUp, isTooSlow, type SessionState } from "./inbound-journal.ts";
import { INBOUND_PREFIX, newInboundId } from "./message-id.ts";
import type { PartOctets } from "./text.ts";
import type { Piece } from "./user-data.ts";

/** A joined message: its parts in order, null for one that never arrived. */
export interface AssembledMessage {
  reference: string;
  from: string;
  to: string;
  parts: readonly (PartOctets | null)[];
}

interface Assembly {
  /** Its name in the journal. */
  id: string;
  /** The name that the parts share. */
  name: string;
  reference: string;
  from: string;
  to: string;
  total: number;
  /** When the first part arrived, by the real clock. */
  at: number;
  /** By index, from 1. Once the message is reported, only the digests are left. */
  parts: Map<number, PartOctets & { digest: string }>;
  isReported: boolean;
  /**
   * The digests of the message before it, by index, while it has only parts that are equal to those: it is the same text
   * sent again, or the SMSC repeats some parts. Null for every other message.
   */
  repeats: ReadonlyMap<number, string> | null;
  /** Whether the SMSC waited so long for a response that it may have repeated a part on the same session. */
  isSlow: boolean;
  session: SessionState | null;
  answer: "taken";
  answeredAt: number;
}

/** Prefix of the keys. */
const PREFIX = "part/";
/** How long to wait for the other parts. */
const WAIT_MS = 600_000;
/** Incomplete messages at once. Beyond this number the SMSC is asked to send the next one later. */
const ASSEMBLIES_MAX = 10_000;

export class Reassembly {
  readonly #clock: Clock;
  readonly #report: (message: AssembledMessage) => Promise<void>;
  readonly #assemblies: Journal<Assembly>;
  readonly #byName = new Map<string, Assembly>();
  readonly #serial = new SerialQueue();
  #count = 0;

  /** `report` resolves once the message is on disk. The same reference again changes nothing. */
  constructor(memory: Memory, clock: Clock, report: (message: AssembledMessage) => Promise<void>) {
    this.#clock = clock;
    this.#report = report;
    this.#assemblies = new Journal({
      memory,
      prefix: PREFIX,
      format: formatAssembly,
      parse,
      max: ASSEMBLIES_MAX,
      added: (assembly) => void this.#byName.set(assembly.name, assembly),
      removed: (assembly) => this.#removed(assembly),
    });
  }

  /** Loads the messages of the previous process. */
  load(): Promise<void> {
    return this.#assemblies.load();
  }

  get size(): number {
    return this.#assemblies.size;
  }

  /**
   * Stores one part that arrived at `arrivedAt` (real clock), and reports the message once it is complete. Resolves when
   * the part is on disk. Returns false if there is no room for it.
   */
  async add(
    { from, to }: Pick<AssembledMessage, "from" | "to">,
    piece: Piece,
    part: PartOctets,
    { session, arrivedAt }: { session: SessionState; arrivedAt: number },
  ): Promise<boolean> {
    const name = digestOf([from, to, piece.how, String(piece.reference), String(piece.total)].join("\n"));
    const digest = digestOf(`${part.dataCoding}${shiftsIn(part)} ${Buffer.from(part.octets).toString("base64")}`);
    return await this.#serial.run(name, async () => {
      const known = this.#byName.get(name);
      if (known !== undefined && isRepeat(known, piece.index, digest, session)) {
        await this.#again(known, session);
        noteSlowness(known, this.#clock.real() - arrivedAt);
        return true;
      }
      const open = known !== undefined && hasPlaceFor(known, piece.index, digest) ? known : null;
      if (open === null && known !== undefined) await this.#end(known);
      if (open === null && this.#assemblies.size >= ASSEMBLIES_MAX) return false;
      const repeats = known !== undefined ? repeatedBy(known, piece.index, digest) : null;
      const assembly = open ?? this.#begin(name, { from, to, total: piece.total, repeats }, session);
      if (assembly.repeats?.get(piece.index) !== digest) assembly.repeats = null;
      await this.#put(assembly, piece.index, { ...part, digest }, session);
      if (assembly.parts.size === assembly.total) await this.#whole(assembly);
      noteSlowness(assembly, this.#clock.real() - arrivedAt);
      return true;
    });
  }

  /** Reports messages that waited long enough as they are, and deletes those that will not be repeated. */
  async sweep(since: number): Promise<void> {
    for (const assembly of this.#assemblies.values()) {
      await this.#serial.run(assembly.name, async () => {
        const now = this.#clock.real();
        const waits = !assembly.isReported && assembly.parts.size < assembly.total;
        const isOver = !assembly.isReported && (!waits || now - assembly.at >= WAIT_MS);
        if (isOver && waits && assembly.repeats !== null) await this.#assemblies.delete(assembly.id);
        else if (isOver) await this.#whole(assembly);
        else if (assembly.isReported && (hasArrived(assembly, now) || isGivenUp(assembly, since, now))) {
          await this.#assemblies.delete(assembly.id);
        }
      });
    }
  }

  #begin(name: string, message: Pick<Assembly, "from" | "to" | "total" | "repeats">, session: SessionState): Assembly {
    const at = this.#clock.real();
    this.#count += 1;
    const id = newInboundId(at, this.#count, name);
    const assembly: Assembly = {
      id,
      name,
      reference: INBOUND_PREFIX + id,
      ...message,
      at,
      parts: new Map(),
      isReported: false,
      isSlow: false,
      session,
      answer: "taken",
      answeredAt: at,
    };
    this.#assemblies.set(id, assembly);
    return assembly;
  }

  /** A repeated part: only its session is new. */
  async #again(assembly: Assembly, session: SessionState): Promise<void> {
    assembly.session = session;
    assembly.answeredAt = this.#clock.real();
    if (!assembly.isReported && assembly.parts.size === assembly.total) await this.#whole(assembly);
  }

  /** A part that could not be stored is dropped, because the SMSC will repeat it. */
  async #put(
    assembly: Assembly,
    index: number,
    part: PartOctets & { digest: string },
    session: SessionState,
  ): Promise<void> {
    assembly.parts.set(index, part);
    try {
      await this.#assemblies.save(assembly.id);
    } catch (error) {
      assembly.parts.delete(index);
      if (assembly.parts.size === 0) this.#assemblies.drop(assembly.id);
      throw error;
    }
    assembly.session = session;
    assembly.answeredAt = this.#clock.real();
  }

  /** Reports the message. After a failure the next sweep tries again, since the parts are on disk. */
  async #whole(assembly: Assembly): Promise<void> {
    if (assembly.isReported) return;
    const parts = Array.from({ length: assembly.total }, (_, at) => assembly.parts.get(at + 1) ?? null);
    try {
      await this.#report({ ...assembly, parts });
    } catch {
      return;
    }
    assembly.isReported = true;
    assembly.repeats = null;
    const nothing = new Uint8Array();
    for (const [index, { digest }] of assembly.parts) {
      assembly.parts.set(index, { dataCoding: 0, octets: nothing, digest });
    }
    // If this write fails, the message is reported again under the same reference, which changes nothing.
    await this.#assemblies.save(assembly.id).catch(() => {});
  }

  /** Ends a message, to make room for the next one with the same name. Parts that only repeat a message are dropped. */
  async #end(assembly: Assembly): Promise<void> {
    if (assembly.repeats === null) await this.#whole(assembly);
    else return await this.#assemblies.delete(assembly.id);
    if (!assembly.isReported)
      throw new Error("the next message with this reference has to wait until this one is reported");
    await this.#assemblies.delete(assembly.id);
  }

  #removed(assembly: Assembly): void {
    if (this.#byName.get(assembly.name) === assembly) this.#byName.delete(assembly.name);
  }
}

/**
 * Whether a part is one that the SMSC repeats because it may not have our response: see `ReceivedMessage`. Once a
 * message is complete, the same part on the same session belongs to the same text sent again.
 */
function isRepeat(known: Assembly, index: number, digest: string, session: SessionState): boolean {
  if (known.parts.get(index)?.digest !== digest) return false;
  return !isComplete(known) || known.session !== session || known.isSlow;
}

/**
 * Whether a part may belong to a message that is not complete: its position is empty. A message of repeated parts takes
 * other parts only behind them. It is then a new message that begins in the same words; a part before them shows that
 * they were repeats.
 */
function hasPlaceFor(known: Assembly, index: number, digest: string): boolean {
  if (known.isReported || known.parts.has(index)) return false;
  if (known.repeats === null || known.repeats.get(index) === digest) return true;
  return index > Math.max(...known.parts.keys());
}

function isComplete({ isReported, parts, total }: Assembly): boolean {
  return isReported && parts.size === total;
}

/** The digests of a complete message of which a part came again, since it may come again as a whole. */
function repeatedBy(known: Assembly, index: number, digest: string): Assembly["repeats"] {
  if (!isComplete(known) || known.parts.get(index)?.digest !== digest) return null;
  return new Map([...known.parts].map(([at, part]) => [at, part.digest]));
}

function noteSlowness(assembly: Assembly, tookMs: number): void {
  if (isTooSlow(tookMs)) assembly.isSlow = true;
}

/** The national tables of a part, for its digest. */
function shiftsIn({ shifts }: PartOctets): string {
  return shifts == null ? "" : `/${shifts.locking}/${shifts.single}`;
}

function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("base64url").slice(0, 22);
}

function formatAssembly({ name, reference, from, to, total, at, isReported, repeats, parts }: Assembly): string {
  const list = [...parts].map(([index, { dataCoding, octets, shifts, digest }]) => ({
    index,
    dataCoding,
    ...(shifts == null ? {} : { shifts }),
    octets: Buffer.from(octets).toString("base64"),
    digest,
  }));
  return JSON.stringify({
    name,
    reference,
    from,
    to,
    total,
    at,
    isTold: isReported,
    parts: list,
    ...(repeats === null ? {} : { repeats: [...repeats] }),
  });
}

function parse(text: string, id: string): Assembly | null {
  const value = recordOf(jsonOf(text));
  const [name, reference, from, to] = [value?.name, value?.reference, value?.from, value?.to].map(textOf);
  const [total, at, isReported, list] = [numberOf(value?.total), numberOf(value?.at), value?.isTold, value?.parts];
  if (name == null || reference == null || from == null || to == null || total === null || at === null) return null;
  if (typeof isReported !== "boolean" || !Array.isArray(list)) return null;
  const parts: Assembly["parts"] = new Map();
  for (const one of list) {
    const part = recordOf(one);
    const [index, dataCoding] = [numberOf(part?.index), numberOf(part?.dataCoding)];
    const [octets, digest] = [textOf(part?.octets), textOf(part?.digest)];
    if (index === null || dataCoding === null || octets === null || digest === null) return null;
    parts.set(index, { dataCoding, octets: Buffer.from(octets, "base64"), digest, shifts: shiftsOf(part?.shifts) });
  }
  const left = { session: null, answer: "taken", answeredAt: at, isSlow: false } as const;
  return { id, name, reference, from, to, total, at, isReported, parts, repeats: repeatsOf(value?.repeats), ...left };
}

function shiftsOf(value: unknown): NationalShifts | null {
  const shifts = recordOf(value);
  return shifts === null ? null : { locking: numberOf(shifts.locking), single: numberOf(shifts.single) };
}

function repeatsOf(value: unknown): Assembly["repeats"] {
  if (!Array.isArray(value)) return null;
  const digests = new Map<number, string>();
  for (const entry of value) {
    const [index, digest] = Array.isArray(entry) ? [numberOf(entry[0]), textOf(entry[1])] : [null, null];
    if (index !== null && digest !== null) digests.set(index, digest);
  }
  return digests;
}
