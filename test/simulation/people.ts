/** The people at the other end of a scripted carrier: what they write, pay, take back and react to of their own accord. */

import type { InboundSignal, ReactionSignal, RevisionSignal } from "../../server/providers/provider.ts";
import type { CarrierParts, HandOver } from "./carrier.ts";

/** What people tell. */
export type PeopleSignal = InboundSignal | ReactionSignal | RevisionSignal;

/** What people need of their carrier. */
interface Line {
  /** Tells a signal until the service has taken it in, and often enough again. */
  tell(signal: PeopleSignal): Promise<void>;
  handOvers: readonly HandOver[];
}

/** Amounts that people pay, in cents: the ones that customers ask for. */
export const AMOUNTS_CENTS: readonly number[] = [2_500, 1_250];

export class People {
  readonly #parts: CarrierParts;
  readonly #line: Line;
  #references = 0;

  constructor(parts: CarrierParts, line: Line) {
    this.#parts = parts;
    this.#line = line;
  }

  /** Somebody at one of `phones` does something towards one of the customers' `numbers`. */
  act(phones: readonly string[], numbers: readonly string[]): void {
    const { chance } = this.#parts;
    const [from, to] = [chance.pick(phones), chance.pick(numbers)];
    const deed = chance.weighted({ write: 10, pay: 12, react: 5, revise: 4, stop: 3, start: 1 });
    if (deed === "react") this.#react();
    else if (deed === "pay") {
      const payment = { amountCents: chance.pick(AMOUNTS_CENTS), currency: "USD", isRequest: false } as const;
      void this.#line.tell(this.#inbound(from, to, { text: null, payment }));
    } else if (deed === "revise") void this.#revise(from, to);
    else {
      const reference = `in-${this.#references + 1}`;
      const text = deed === "write" ? `Written as ${reference}` : deed.toUpperCase();
      void this.#line.tell(this.#inbound(from, to, { text }));
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
    const there = this.#line.handOvers.filter(({ taken, channel }) => taken !== null && channel === "imessage");
    if (there.length === 0) return;
    const { taken, from: to, to: from } = chance.pick(there);
    this.#references += 1;
    const reference = `in-${this.#references}`;
    const target = taken?.reference ?? "";
    const said = { type: chance.pick(["love", "like", "remove"] as const), content: `Reacted as ${reference}` };
    void this.#line.tell({ kind: "reaction", reference, from, to, channel: "imessage", target, ...said });
  }

  /** Writes, and thinks better of it. */
  async #revise(from: string, to: string): Promise<void> {
    const { chance } = this.#parts;
    const written = this.#inbound(from, to, { text: `Written as in-${this.#references + 1}`, channel: "imessage" });
    const { reference, text } = written;
    await this.#line.tell(written);
    const revised = chance.flip(0.5) ? null : `${text}, and edited`;
    await this.#line.tell({ kind: "revision", reference, to, channel: "imessage", text: revised });
  }
}
