/** The router in front of the cells: three maps to customers, the placement of each customer, and copies that grow old. */

import type { Accepted, CarrierSignal, Cell, NewMessage } from "./cell.ts";
import type { CellsWorld } from "./cells-world.ts";

/** The cell that serves a customer. A move raises the version. */
export interface Placement {
  cell: Cell;
  version: number;
}

/** The maps, of which each router has a copy. A move changes one entry: that of the customer's placement. */
export interface Directory {
  keys: Map<string, string>;
  numbers: Map<string, string>;
  hooks: Map<string, string>;
  placements: Map<string, Placement>;
}

/** A router asks for the maps anew this often, and when a cell refuses. */
const REFRESH_MS = 5_000;
const TRIES_MAX = 20;
const TRY_AGAIN_MS = 50;

/** `unavailable`: the caller asks again later. Without a reply the router does not know either. */
export type Routed<Reply> = Exclude<Reply, "refused"> | "unavailable";

export class Router {
  readonly #world: CellsWorld;
  readonly #directory: Directory;
  #copy: Directory;

  constructor(world: CellsWorld, directory: Directory) {
    this.#world = world;
    this.#directory = directory;
    this.#copy = structureOf(directory);
    this.#refreshRegularly();
  }

  send(apiKey: string, message: NewMessage): Promise<Routed<Accepted>> {
    const customer = this.#copy.keys.get(apiKey) ?? "";
    return this.#route(customer, ({ cell, version }) => cell.accept(customer, version, message));
  }

  hook(path: string, signal: CarrierSignal): Promise<"applied" | "refused"> {
    return this.#signal(this.#copy.hooks.get(path) ?? "", signal);
  }

  inbound(number: string, signal: CarrierSignal): Promise<"applied" | "refused"> {
    return this.#signal(this.#copy.numbers.get(number) ?? "", signal);
  }

  async #signal(customer: string, signal: CarrierSignal): Promise<"applied" | "refused"> {
    const routed = await this.#route(customer, ({ cell, version }) => cell.receive(customer, version, signal));
    return routed === "applied" ? "applied" : "refused";
  }

  /**
   * Asks the customer's cell. A refusal proves that nothing happened, so the router looks the placement up and asks
   * again. Silence proves nothing, so the router does not ask again.
   */
  async #route<Reply>(
    customer: string,
    ask: (placement: Placement) => Promise<Reply | "refused">,
  ): Promise<Routed<Reply>> {
    for (let tries = 0; tries < TRIES_MAX; tries += 1) {
      const placement = this.#copy.placements.get(customer);
      if (placement === undefined) return "unavailable";
      const reply = await this.#world.call(() => ask(placement));
      if (reply === null) return "unavailable";
      if (reply !== "refused") return reply as Exclude<Reply, "refused">;
      await this.#world.pause(TRY_AGAIN_MS);
      await this.#refresh();
    }
    return "unavailable";
  }

  async #refresh(): Promise<void> {
    this.#copy = (await this.#world.call(async () => structureOf(this.#directory))) ?? this.#copy;
  }

  #refreshRegularly(): void {
    this.#world.clock.after(REFRESH_MS, async () => {
      await this.#refresh();
      this.#refreshRegularly();
    });
  }
}

function structureOf({ keys, numbers, hooks, placements }: Directory): Directory {
  return { keys: new Map(keys), numbers: new Map(numbers), hooks: new Map(hooks), placements: new Map(placements) };
}
