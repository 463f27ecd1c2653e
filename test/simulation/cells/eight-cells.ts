/** One run of eight cells behind three routers: customers send, cells die and recover, customers are moved under load. */

import { Carrier } from "./carrier.ts";
import { Cell, type NewMessage } from "./cell.ts";
import { CellsWorld, type Fence, type Weather } from "./cells-world.ts";
import { CustomersServer } from "./customers-server.ts";
import { moveCustomer } from "./move.ts";
import { type Directory, Router } from "./router.ts";

const CELLS = 8;
const CUSTOMERS = 16;
const ROUTERS = 3;
const MESSAGES_EACH = 12;
const INBOUND = 40;
const MOVES = 14;
const DEATHS = 4;
/** The load, the moves and the deaths are within this time. */
const LOAD_MS = 10_000;
const QUIET_MS_MAX = 30_000;

/** A network that loses and delays what it carries. */
const BAD_WEATHER: Weather = { lost: 0.03, slow: 0.03 };
export const GOOD_WEATHER: Weather = { lost: 0, slow: 0 };

/** A message that a customer wants to send. Without an idempotency key its request is not repeated. */
export interface Sent extends NewMessage {
  customer: string;
  /** The ids of its acknowledgements. */
  acknowledged: string[];
  /** Requests without a result. */
  failures: number;
}

/** Everything that can be observed of a run. */
export interface CellsRun {
  cells: Cell[];
  directory: Directory;
  sent: Sent[];
  carrier: Carrier;
  customersServer: CustomersServer;
  /** Customers who were moved, or whose cell died. */
  disturbed: Set<string>;
  /** Moves that could not go on. */
  faults: string[];
  moves: number;
  deaths: number;
  /** Whether everything came to its end. */
  isQuiet: boolean;
  /** Simulated time from the end of the load to the end of everything. */
  quietAfterMs: number;
}

/** Runs the cells of a seed. A missing fence must break a promise sooner or later. */
export async function runCells(
  seed: string,
  { weather = BAD_WEATHER, missing = null }: { weather?: Weather; missing?: Fence | null } = {},
): Promise<CellsRun> {
  const stage = new Stage(new CellsWorld(seed, weather, missing));
  return await stage.run();
}

class Stage {
  readonly #world: CellsWorld;
  readonly #carrier: Carrier;
  readonly #customersServer = new CustomersServer();
  readonly #cells: Cell[];
  readonly #directory: Directory = { keys: new Map(), numbers: new Map(), hooks: new Map(), placements: new Map() };
  readonly #routers: Router[];
  readonly #sent: Sent[] = [];
  readonly #moving = new Set<string>();
  readonly #disturbed = new Set<string>();
  #moves = 0;
  readonly #faults: string[] = [];
  #deaths = 0;
  #open = 0;

  constructor(world: CellsWorld) {
    this.#world = world;
    this.#carrier = new Carrier(this.#world);
    const { chance } = this.#world;
    this.#cells = Array.from(
      { length: CELLS },
      (_, index) => new Cell(`cell-${index + 1}`, this.#world, this.#carrier, this.#customersServer),
    );
    for (const customer of this.#customers()) {
      const cell = chance.pick(this.#cells);
      this.#directory.keys.set(`key of ${customer}`, customer);
      this.#directory.numbers.set(`number of ${customer}`, customer);
      this.#directory.hooks.set(`/hooks/${customer}`, customer);
      this.#directory.placements.set(customer, { cell, version: 1 });
      cell.holdings.set(customer, { role: "serving", version: 1, position: 0, rows: new Map() });
    }
    this.#routers = Array.from({ length: ROUTERS }, () => new Router(this.#world, this.#directory));
    this.#carrier.connect({
      hook: (path, signal) => chance.pick(this.#routers).hook(path, signal),
      inbound: (number, signal) => chance.pick(this.#routers).inbound(number, signal),
    });
  }

  async run(): Promise<CellsRun> {
    const { clock, chance } = this.#world;
    const customers = this.#customers();
    const sometime = (action: () => void) => void clock.after(chance.between(1, LOAD_MS), action);
    for (const customer of customers)
      for (let message = 0; message < MESSAGES_EACH; message += 1)
        sometime(() => void this.#during(this.#send(customer, message)));
    for (let index = 0; index < INBOUND; index += 1)
      sometime(() => this.#carrier.write(`number of ${chance.pick(customers)}`));
    for (let index = 0; index < MOVES; index += 1) sometime(() => void this.#during(this.#move()));
    for (let index = 0; index < DEATHS; index += 1) sometime(() => this.#die());
    await clock.advance(LOAD_MS);
    const endAt = clock.real();
    const isQuiet = await clock.advanceUntil(() => this.#isQuiet(), QUIET_MS_MAX);
    return {
      cells: this.#cells,
      directory: this.#directory,
      sent: this.#sent,
      carrier: this.#carrier,
      customersServer: this.#customersServer,
      disturbed: this.#disturbed,
      faults: this.#faults,
      moves: this.#moves,
      deaths: this.#deaths,
      isQuiet,
      quietAfterMs: clock.real() - endAt,
    };
  }

  #customers(): string[] {
    return Array.from({ length: CUSTOMERS }, (_, index) => `customer-${index + 1}`);
  }

  /** Sends a message; with a key the client repeats the request until it is acknowledged, and sometimes afterwards. */
  async #send(customer: string, number: number): Promise<void> {
    const { chance } = this.#world;
    const text = `order ${number} of ${customer}`;
    const key = chance.flip(0.1) ? null : `key ${number}`;
    const sent: Sent = { customer, key, text, acknowledged: [], failures: 0 };
    this.#sent.push(sent);
    for (;;) {
      const router = chance.pick(this.#routers);
      const reply = await this.#world.call(() => router.send(`key of ${customer}`, { key, text }));
      if (reply === null || reply === "unavailable") sent.failures += 1;
      else sent.acknowledged.push(reply.id);
      if (key === null || (sent.acknowledged.length > 0 && !chance.flip(0.1))) return;
      await this.#world.pause(chance.between(20, 2_000));
    }
  }

  /** Moves a customer, unless the customer is being moved. */
  async #move(): Promise<void> {
    const { chance } = this.#world;
    const customer = chance.pick(this.#customers());
    if (this.#moving.has(customer)) return;
    this.#moving.add(customer);
    this.#disturbed.add(customer);
    await moveCustomer(this.#world, this.#directory, customer, chance.pick(this.#cells));
    this.#moving.delete(customer);
    this.#moves += 1;
  }

  /** Kills a cell, often one that a customer is leaving. */
  #die(): void {
    const { chance, clock } = this.#world;
    const moving = [...this.#moving].flatMap((customer) => this.#directory.placements.get(customer)?.cell ?? []);
    const cell = chance.pick(moving.length > 0 && chance.flip(0.7) ? moving : this.#cells);
    if (!cell.isUp) return;
    for (const [customer, placement] of this.#directory.placements)
      if (placement.cell === cell) this.#disturbed.add(customer);
    this.#deaths += 1;
    cell.die();
    clock.after(chance.between(100, 4_000), () => cell.recover());
  }

  async #during(work: Promise<void>): Promise<void> {
    this.#open += 1;
    await work.catch((error: unknown) => this.#faults.push(String(error)));
    this.#open -= 1;
  }

  #isQuiet(): boolean {
    const holdings = this.#cells.flatMap(({ holdings: all }) => [...all.values()]);
    const rows = holdings.filter(({ role }) => role === "serving").flatMap(({ rows: all }) => [...all.values()]);
    const hasEnded = rows.every(
      ({ row }) => (row.kind !== "message" || row.status === "delivered") && (row.kind !== "event" || row.isDelivered),
    );
    return this.#open === 0 && this.#carrier.isQuiet && this.#cells.every(({ isUp }) => isUp) && hasEnded;
  }
}
