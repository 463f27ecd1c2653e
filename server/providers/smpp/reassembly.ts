/** Joins the parts of inbound messages. Parts are on disk until the message is complete or has waited too long. */

import { createHash } from "node:crypto";
import type { Clock } from "../../clock.ts";
import { SerialQueue } from "../../core/serial-queue.ts";
import { Journal } from "../kit/journal.ts";
import type { Memory } from "../provider.ts";
import { hasArrived, isGivenUp, type SessionState } from "./inbound-journal.ts";
import { INBOUND_PREFIX, newInboundId } from "./message-id.ts";
import type { Piece } from "./user-data.ts";

/** The octets of one part, with their data_coding. */
export interface PartOctets {
  dataCoding: number;
  octets: Uint8Array;
}

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
   * Stores one part, and reports the message once it is complete. Resolves when the part is on disk. Returns false if
   * there is no room for it.
   */
  async add(
    { from, to }: Pick<AssembledMessage, "from" | "to">,
    piece: Piece,
    part: PartOctets,
    session: SessionState,
  ): Promise<boolean> {
    const name = digestOf([from, to, piece.how, String(piece.reference), String(piece.total)].join("\n"));
    const digest = digestOf(`${part.dataCoding} ${Buffer.from(part.octets).toString("base64")}`);
    return await this.#serial.run(name, async () => {
      const known = this.#byName.get(name);
      const twin = known?.parts.get(piece.index);
      if (known !== undefined && twin?.digest === digest) return await this.#again(known, session);
      // A different part with the same index, or a part after the message was complete, begins the next message with
      // this reference.
      if (known !== undefined && (known.isReported || twin !== undefined)) await this.#end(known);
      const open = this.#byName.get(name);
      if (open === undefined && this.#assemblies.size >= ASSEMBLIES_MAX) return false;
      const assembly = open ?? this.#begin(name, { from, to, total: piece.total }, session);
      await this.#put(assembly, piece.index, { ...part, digest }, session);
      if (assembly.parts.size === assembly.total) await this.#whole(assembly);
      return true;
    });
  }

  /** Reports messages that waited long enough as they are, and deletes those that will not be repeated. */
  async sweep(since: number): Promise<void> {
    for (const assembly of this.#assemblies.values()) {
      await this.#serial.run(assembly.name, async () => {
        const now = this.#clock.real();
        const waits = !assembly.isReported && assembly.parts.size < assembly.total;
        if (!assembly.isReported && (!waits || now - assembly.at >= WAIT_MS)) await this.#whole(assembly);
        else if (assembly.isReported && (hasArrived(assembly, now) || isGivenUp(assembly, since, now))) {
          await this.#assemblies.delete(assembly.id);
        }
      });
    }
  }

  #begin(
    name: string,
    message: Pick<AssembledMessage, "from" | "to"> & { total: number },
    session: SessionState,
  ): Assembly {
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
      session,
      answer: "taken",
      answeredAt: at,
    };
    this.#assemblies.set(id, assembly);
    return assembly;
  }

  /** A repeated part: only its session is new. */
  async #again(assembly: Assembly, session: SessionState): Promise<boolean> {
    assembly.session = session;
    assembly.answeredAt = this.#clock.real();
    if (!assembly.isReported && assembly.parts.size === assembly.total) await this.#whole(assembly);
    return true;
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
    const nothing = new Uint8Array();
    for (const [index, { digest }] of assembly.parts) {
      assembly.parts.set(index, { dataCoding: 0, octets: nothing, digest });
    }
    // If this write fails, the message is reported again under the same reference, which changes nothing.
    await this.#assemblies.save(assembly.id).catch(() => {});
  }

  /** Ends a message, to make room for the next one with the same name. */
  async #end(assembly: Assembly): Promise<void> {
    await this.#whole(assembly);
    if (!assembly.isReported)
      throw new Error("the next message with this reference has to wait until this one is reported");
    await this.#assemblies.delete(assembly.id);
  }

  #removed(assembly: Assembly): void {
    if (this.#byName.get(assembly.name) === assembly) this.#byName.delete(assembly.name);
  }
}

function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("base64url").slice(0, 22);
}

function formatAssembly({ name, reference, from, to, total, at, isReported, parts }: Assembly): string {
  const list = [...parts].map(([index, { dataCoding, octets, digest }]) => ({
    index,
    dataCoding,
    octets: Buffer.from(octets).toString("base64"),
    digest,
  }));
  return JSON.stringify({ name, reference, from, to, total, at, isTold: isReported, parts: list });
}

function parse(text: string, id: string): Assembly | null {
  try {
    const value = (JSON.parse(text) ?? {}) as Partial<Omit<Assembly, "parts"> & { parts: unknown; isTold: boolean }>;
    const { name, reference, from, to, total, at, isTold: isReported } = value;
    if (typeof name !== "string" || typeof reference !== "string" || typeof isReported !== "boolean") return null;
    if (typeof from !== "string" || typeof to !== "string") return null;
    if (typeof total !== "number" || typeof at !== "number" || !Array.isArray(value.parts)) return null;
    const parts: Assembly["parts"] = new Map();
    for (const part of value.parts as Partial<Record<"index" | "dataCoding" | "octets" | "digest", unknown>>[]) {
      const { index, dataCoding, octets, digest } = part;
      if (typeof index !== "number" || typeof dataCoding !== "number") return null;
      if (typeof octets !== "string" || typeof digest !== "string") return null;
      parts.set(index, { dataCoding, octets: Buffer.from(octets, "base64"), digest });
    }
    const left = { session: null, answer: "taken", answeredAt: at } as const;
    return { id, name, reference, from, to, total, at, isReported, parts, ...left };
  } catch {
    return null;
  }
}
