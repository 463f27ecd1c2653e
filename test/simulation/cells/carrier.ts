/** The carrier of all cells: remembers what it took, and reports receipts and inbound messages until they are applied. */

import type { CarrierSignal } from "./cell.ts";
import type { CellsWorld } from "./cells-world.ts";

/** Reports a signal at a hook (receipts) or for a number (inbound messages). */
export interface Hooks {
  hook(path: string, signal: CarrierSignal): Promise<"applied" | "refused">;
  inbound(number: string, signal: CarrierSignal): Promise<"applied" | "refused">;
}

/** A signal is reported again later, though it was applied. */
const REPEATED = 0.1;

export class Carrier {
  /** Messages as often as they were sent. */
  readonly taken: { customer: string; id: string; text: string }[] = [];
  readonly inbound: string[] = [];
  readonly #world: CellsWorld;
  #hooks: Hooks | null = null;
  #open = 0;

  constructor(world: CellsWorld) {
    this.#world = world;
  }

  connect(hooks: Hooks): void {
    this.#hooks = hooks;
  }

  /** True when every signal was applied. */
  get isQuiet(): boolean {
    return this.#open === 0;
  }

  async take(customer: string, id: string, text: string): Promise<"taken"> {
    this.taken.push({ customer, id, text });
    const signal = { id: this.#world.newId("receipt-"), receiptOf: id };
    void this.#report((hooks) => hooks.hook(`/hooks/${customer}`, signal));
    return "taken";
  }

  async has(id: string): Promise<boolean> {
    return this.taken.some((message) => message.id === id);
  }

  /** A person writes to a number. */
  write(number: string): void {
    const signal = { id: this.#world.newId("inbound-"), receiptOf: null };
    this.inbound.push(signal.id);
    void this.#report((hooks) => hooks.inbound(number, signal));
  }

  async #report(report: (hooks: Hooks) => Promise<"applied" | "refused">): Promise<void> {
    const { chance } = this.#world;
    this.#open += 1;
    for (;;) {
      await this.#world.pause(chance.between(1, 1_000));
      const hooks = this.#hooks;
      const reply = hooks === null ? null : await this.#world.call(() => report(hooks));
      if (reply === "applied" && !chance.flip(REPEATED)) break;
    }
    this.#open -= 1;
  }
}
