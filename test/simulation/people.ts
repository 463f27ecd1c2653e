/** The people at the other end of a scripted carrier: they write, pay, edit, unsend and react at random. */

import type { InboundSignal, ReactionSignal, RevisionSignal } from "../../server/providers/provider.ts";
import type { CarrierParts } from "./carrier.ts";
import type { SendAttempt } from "./carrier-log.ts";

/** A signal caused by a person. */
export type PeopleSignal = InboundSignal | ReactionSignal | RevisionSignal;

/** Parts of the carrier that people use. */
interface Line {
  /** Reports a signal until the service accepts it, and sometimes again. */
  report(signal: PeopleSignal): Promise<void>;
  sendAttempts: readonly SendAttempt[];
}

/** Amounts that people pay, in cents; customers request the same ones. */
export const AMOUNTS_CENTS: readonly number[] = [2_500, 1_250];

export class People {
  readonly #parts: CarrierParts;
  readonly #line: Line;
  #references = 0;

  constructor(parts: CarrierParts, line: Line) {
    this.#parts = parts;
    this.#line = line;
  }

  /** A person at one of `phones` acts towards one of the customers' `numbers`. */
  act(phones: readonly string[], numbers: readonly string[]): void {
    const { chance } = this.#parts;
    const [from, to] = [chance.pick(phones), chance.pick(numbers)];
    const deed = chance.weighted({ write: 10, pay: 12, react: 5, revise: 4, stop: 3, start: 1 });
    if (deed === "react") this.#react();
    else if (deed === "pay") {
      const payment = { amountCents: chance.pick(AMOUNTS_CENTS), currency: "USD", isRequest: false } as const;
      void this.#line.report(this.#inbound(from, to, { text: null, payment }));
    } else if (deed === "revise") void this.#revise(from, to);
    else {
      const reference = `in-${this.#references + 1}`;
      const text = deed === "write" ? `Written as ${reference}` : deed.toUpperCase();
      void this.#line.report(this.#inbound(from, to, { text }));
    }
  }

  #inbound(from: string, to: string, more: Partial<InboundSignal>): InboundSignal {
    const { chance } = this.#parts;
    this.#references += 1;
    const channel = chance.flip(0.7) || from.includes("@") ? "imessage" : "sms";
    return {
      kind: "inbound",
      reference: `in-${this.#references}`,
      from,
      to,
      channel,
      group: null,
      text: null,
      attachments: [],
      replyTo: null,
      payment: null,
      effect: null,
      ...more,
    };
  }

  #react(): void {
    const { chance } = this.#parts;
    const there = this.#line.sendAttempts.filter(({ taken, channel }) => taken !== null && channel === "imessage");
    if (there.length === 0) return;
    const { taken, from: to, to: from } = chance.pick(there);
    this.#references += 1;
    const reference = `in-${this.#references}`;
    const target = taken?.reference ?? "";
    const said = { type: chance.pick(["love", "like", "remove"] as const), content: `Reacted as ${reference}` };
    void this.#line.report({ kind: "reaction", reference, from, to, channel: "imessage", target, ...said });
  }

  /** Writes a message, then edits or unsends it. */
  async #revise(from: string, to: string): Promise<void> {
    const { chance } = this.#parts;
    const written = this.#inbound(from, to, { text: `Written as in-${this.#references + 1}`, channel: "imessage" });
    const { reference, text } = written;
    await this.#line.report(written);
    const revised = chance.flip(0.5) ? null : `${text}, and edited`;
    await this.#line.report({ kind: "revision", reference, to, channel: "imessage", text: revised });
  }
}
