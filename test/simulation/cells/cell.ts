/** A model of one deployment: accepts are durable, send attempts are recorded first, webhooks are repeated until taken. */

import { Life } from "../life.ts";
import type { Carrier } from "./carrier.ts";
import { type CellsWorld, REPLY_MS_MAX } from "./cells-world.ts";
import type { CustomersServer } from "./customers-server.ts";

/**
 * The part of a cell in a customer's life. `serving`: it does everything. `leaving`: it only records outcomes of what is in
 * flight. `arriving`: it takes copies. `moved`: it has nothing but this word and its version.
 */
export type Role = "serving" | "leaving" | "arriving" | "moved";

export type Row =
  | { kind: "message"; text: string; status: "queued" | "pending" | "sent" | "delivered"; arrivesUntil: number }
  | { kind: "key"; message: string }
  | { kind: "event"; type: string; subject: string; isDelivered: boolean }
  | { kind: "signal" };

/** Everything that a cell has of one customer, on disk. No row belongs to two customers. */
export interface Holding {
  role: Role;
  /** The version of the customer's placement that this role belongs to. */
  version: number;
  /** The number of changes so far, and for each row the number of its last change. */
  position: number;
  rows: Map<string, { position: number; row: Row }>;
}

/** Changes of a holding after a position. */
export interface Changes {
  since: number;
  position: number;
  rows: [id: string, row: Row][];
}

/** A request to send. Null: without an idempotency key. */
export interface NewMessage {
  key: string | null;
  text: string;
}

export type Accepted = { id: string } | "refused";

/** A receipt of a message, or an inbound message. A signal may be reported several times. */
export interface CarrierSignal {
  id: string;
  receiptOf: string | null;
}

/** A message waits up to this long for a permit of its carrier. */
const PERMIT_MS_MAX = 200;

/** A cell, with a life that may end and a disk that outlives it. */
export class Cell {
  readonly name: string;
  readonly holdings = new Map<string, Holding>();
  readonly #world: CellsWorld;
  readonly #carrier: Carrier;
  readonly #customers: CustomersServer;
  #life: Life;
  /** Requests to the carrier without a reply, by customer. */
  #inFlight = new Map<string, number>();

  constructor(name: string, world: CellsWorld, carrier: Carrier, customers: CustomersServer) {
    this.name = name;
    this.#world = world;
    this.#carrier = carrier;
    this.#customers = customers;
    this.#life = new Life(1, world.clock);
  }

  get isUp(): boolean {
    return this.#life.alive;
  }

  /** Ends the process. Its disk stays, and commits that wait for the disk are lost. */
  die(): void {
    this.#life.die();
    this.#inFlight = new Map();
  }

  recover(): void {
    this.#life = new Life(this.#life.number + 1, this.#world.clock);
    for (const [customer, holding] of this.holdings) {
      if (holding.role === "leaving" && !this.#world.holds("the role survives a crash")) holding.role = "serving";
      this.#resume(customer);
    }
  }

  /** Accepts a message. A repeated key gets the id of the first request. */
  accept(customer: string, version: number, { key, text }: NewMessage): Promise<Accepted> {
    const isFenced = this.#world.holds("an accept requires the role and the version");
    const id = this.#world.newId("message-");
    const accepted = this.#commit(customer, (holding): Accepted => {
      if (isFenced && (holding.role !== "serving" || holding.version !== version)) return "refused";
      const earlier = key === null ? undefined : holding.rows.get(key)?.row;
      if (earlier?.kind === "key") return { id: earlier.message };
      if (key !== null) put(holding, key, { kind: "key", message: id });
      put(holding, id, { kind: "message", text, status: "queued", arrivesUntil: 0 });
      this.#emit(customer, holding, "queued", id);
      void this.#send(customer, id);
      return { id };
    });
    return this.#world.holds("an accept is on disk before its response") ? accepted : Promise.resolve({ id });
  }

  /** Applies a carrier's signal once, however often it is reported. */
  receive(customer: string, version: number, { id, receiptOf }: CarrierSignal): Promise<"applied" | "refused"> {
    return this.#commit(customer, (holding) => {
      if (holding.role !== "serving" || holding.version !== version)
        return this.#world.holds("a cell without the role refuses hooks") ? "refused" : "applied";
      if (holding.rows.has(id)) return "applied";
      const message = receiptOf === null ? null : holding.rows.get(receiptOf)?.row;
      if (receiptOf !== null && message?.kind !== "message") return "refused";
      put(holding, id, { kind: "signal" });
      if (receiptOf === null) this.#emit(customer, holding, "inbound", id);
      else if (message?.kind === "message") {
        if (message.status !== "sent") this.#emit(customer, holding, "sent", receiptOf);
        put(holding, receiptOf, { ...message, status: "delivered" });
        this.#emit(customer, holding, "delivered", receiptOf);
      }
      return "applied";
    });
  }

  /** Reads what changed since a position. */
  read(customer: string, since: number): Promise<Changes> {
    return this.#commit(customer, ({ position, rows }) => {
      const changed = [...rows].filter(([, one]) => one.position > since && this.#isCopied(one.row));
      return { since, position, rows: changed.map(([id, { row }]) => [id, row]) };
    });
  }

  /** Writes a copy that follows the one before it, unless this cell has a part in a later version. */
  write(customer: string, version: number, changes: Changes): Promise<"written" | "refused"> {
    return this.#commit(customer, (holding) => {
      if (holding.role !== "arriving" && holding.version < version)
        this.holdings.set(customer, { role: "arriving", version, position: 0, rows: new Map() });
      const own = this.#holding(customer);
      if (own.role !== "arriving" || own.version !== version) return "refused";
      if (own.position === changes.position) return "written";
      if (own.position !== changes.since) return "refused";
      for (const [id, row] of changes.rows) own.rows.set(id, { position: changes.position, row });
      own.position = changes.position;
      return "written";
    });
  }

  /** Stops everything new of a customer for good. True once nothing of theirs is in flight. */
  fence(customer: string, version: number): Promise<boolean> {
    return this.#commit(customer, (holding) => {
      if (holding.version < version) holding.role = "leaving";
      return (this.#inFlight.get(customer) ?? 0) === 0;
    });
  }

  /** Begins to serve a customer whose copy is complete. */
  serve(customer: string, version: number): Promise<"serving"> {
    return this.#commit(customer, (holding) => {
      if (holding.role === "arriving" && holding.version === version) {
        holding.role = "serving";
        this.#resume(customer);
      }
      return "serving";
    });
  }

  /** Deletes a customer who is served elsewhere under this version. */
  forget(customer: string, version: number): Promise<"forgotten"> {
    return this.#commit(customer, (holding) => {
      if (holding.version < version)
        this.holdings.set(customer, { role: "moved", version, position: 0, rows: new Map() });
      return "forgotten";
    });
  }

  /** Changes the disk after an fsync, at once and as a whole. Never resolves if the cell dies before. */
  #commit<Result>(customer: string, change: (holding: Holding) => Result): Promise<Result> {
    return new Promise((resolve) => {
      this.#life.clock.after(this.#world.chance.between(1, 4), () => resolve(change(this.#holding(customer))));
    });
  }

  #holding(customer: string): Holding {
    const holding = this.holdings.get(customer) ?? { role: "moved", version: 0, position: 0, rows: new Map() };
    this.holdings.set(customer, holding);
    return holding;
  }

  #isCopied(row: Row): boolean {
    if (row.kind === "key") return this.#world.holds("idempotency keys are copied");
    return row.kind !== "event" || row.isDelivered || this.#world.holds("pending deliveries are copied");
  }

  /** Starts all work that the disk has, as after a start. */
  #resume(customer: string): void {
    const holding = this.#holding(customer);
    if (holding.role !== "serving") return;
    for (const [id, { row }] of holding.rows) {
      if (row.kind === "message" && row.status === "queued") void this.#send(customer, id);
      if (row.kind === "message" && row.status === "pending") void this.#reconcile(customer, id, row.arrivesUntil);
      if (row.kind === "event" && !row.isDelivered) void this.#deliver(customer, id);
    }
  }

  async #send(customer: string, id: string): Promise<void> {
    await this.#life.whileAlive(this.#world.pause(this.#world.chance.between(1, PERMIT_MS_MAX)));
    const begun = await this.#commit(customer, (holding) => {
      const isAllowed = holding.role === "serving" || !this.#world.holds("a send attempt requires the role");
      const message = holding.rows.get(id)?.row;
      if (!isAllowed || message?.kind !== "message" || message.status !== "queued") return null;
      const attempted = {
        ...message,
        status: "pending" as const,
        arrivesUntil: this.#world.clock.real() + REPLY_MS_MAX,
      };
      put(holding, id, attempted);
      this.#addInFlight(customer, 1);
      return attempted;
    });
    if (begun === null) return;
    const reply = await this.#life.whileAlive(this.#world.call(() => this.#carrier.take(customer, id, begun.text)));
    if (reply === "taken") await this.#sent(customer, id);
    this.#addInFlight(customer, -1);
    if (reply === null) await this.#reconcile(customer, id, begun.arrivesUntil);
  }

  /** Asks the carrier about an attempt without an outcome, once the attempt cannot arrive any more. */
  async #reconcile(customer: string, id: string, arrivesUntil: number): Promise<void> {
    const life = this.#life;
    const waitMs = Math.max(1, arrivesUntil - this.#world.clock.real());
    await life.whileAlive(this.#world.pause(waitMs));
    const hasIt = await life.whileAlive(this.#world.callUntilReply(() => this.#carrier.has(id)));
    if (hasIt) return await this.#sent(customer, id);
    await this.#commit(customer, (holding) => {
      const message = holding.rows.get(id)?.row;
      if (message?.kind === "message" && message.status === "pending" && holding.role === "serving")
        put(holding, id, { ...message, status: "queued" });
    });
    await this.#send(customer, id);
  }

  #sent(customer: string, id: string): Promise<void> {
    return this.#commit(customer, (holding) => {
      const message = holding.rows.get(id)?.row;
      const isOurs = holding.role === "serving" || holding.role === "leaving";
      if (!isOurs || message?.kind !== "message" || message.status !== "pending") return;
      put(holding, id, { ...message, status: "sent" });
      this.#emit(customer, holding, "sent", id);
    });
  }

  #emit(customer: string, holding: Holding, type: string, subject: string): void {
    const id = this.#world.newId("event-");
    put(holding, id, { kind: "event", type, subject, isDelivered: false });
    void this.#deliver(customer, id);
  }

  /** Posts an event until the customer's server has taken it. */
  async #deliver(customer: string, id: string): Promise<void> {
    const life = this.#life;
    for (;;) {
      const { role, rows } = this.#holding(customer);
      const event = rows.get(id)?.row;
      if (role !== "serving" || event?.kind !== "event" || event.isDelivered) return;
      const post = this.#world.call(() => this.#customers.post(customer, { id, ...event }));
      if ((await life.whileAlive(post)) === "ok") {
        await this.#commit(customer, (holding) => {
          if (holding.role === "serving" || holding.role === "leaving")
            put(holding, id, { ...event, isDelivered: true });
        });
        return;
      }
      await life.whileAlive(this.#world.pause(this.#world.chance.between(50, 500)));
    }
  }

  #addInFlight(customer: string, more: number): void {
    this.#inFlight.set(customer, (this.#inFlight.get(customer) ?? 0) + more);
  }
}

/** Writes a row as the holding's next change. */
function put(holding: Holding, id: string, row: Row): void {
  holding.position += 1;
  holding.rows.set(id, { position: holding.position, row });
}
