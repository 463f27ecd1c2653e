/** Collects the changes that a SQL transaction makes to leases of messages, and applies them after COMMIT. */

import { LAYOUT, type SqlValue } from "../rows.ts";
import type { MessageClaims } from "./message-claims.ts";
import type { DuePlace } from "./message-leases.ts";
import type { Statements } from "./statements.ts";

/** Index of a message's property in the values of its row. */
const indexOf = (name: string) => LAYOUT.messages.findIndex(({ property }) => property === name);
const [ID, LANE, FROM, TO, DUE_AT, STATUS] = ["id", "instanceId", "from", "to", "dueAt", "status"].map(indexOf) as [
  number,
  number,
  number,
  number,
  number,
  number,
];

/** The properties that a claim goes by. An update of one ends the lease, or makes a send attempt hold it. */
const CLAIMED = ["status", "dueAt", "claimedUntil", "instanceId"];

/** Where an update has certain properties: the index of each value, or -1 if the update does not set the property. */
interface UpdateShape {
  isClaimChanged: boolean;
  claimedUntil: number;
  dueAt: number;
  instanceId: number;
}

export class LeaseEffects {
  readonly #claims: MessageClaims;
  readonly #statements: Statements;
  readonly #shapes = new Map<string, UpdateShape>();
  #effects: (() => void)[] = [];

  constructor(claims: MessageClaims, statements: Statements) {
    this.#claims = claims;
    this.#statements = statements;
  }

  /** Notes an inserted message. */
  inserted(values: readonly SqlValue[]): void {
    this.#dueAt([values[LANE], values[ID], values[FROM], values[TO], values[DUE_AT], values[STATUS] === "pending"]);
  }

  /**
   * Notes an updated message. An update of a property in `CLAIMED` ends the message's lease. An update that records a
   * send attempt keeps the lease. `properties` are comma-separated, in the order of `values`.
   */
  updated(properties: string, values: readonly SqlValue[], id: string): void {
    const shape = this.#shapeOf(properties);
    if (!shape.isClaimChanged) return;
    const isHeld = typeof values[shape.claimedUntil] === "number";
    this.#effects.push(isHeld ? () => this.#claims.hold(id) : () => this.#claims.end(id, shape.dueAt < 0));
    const dueAt = values[shape.dueAt];
    const mayBeDue = typeof dueAt === "number" && this.#claims.mayBePassed(dueAt);
    if (!mayBeDue && shape.instanceId < 0) return;
    const row = this.#statements.placeOfMessage().get(id) as unknown as SqlValue[] | undefined;
    if (row !== undefined) this.#dueAt(row);
  }

  /** Notes a message that is deleted, or removed from its queue. */
  removed(id: string): void {
    this.#effects.push(() => this.#claims.end(id));
  }

  /** Notes that a statement over many rows made messages due. */
  rescan(): void {
    this.#effects.push(() => this.#claims.rescan());
  }

  /** Notes that every lease has ended, as at a start. */
  cleared(): void {
    this.#effects.push(() => this.#claims.clear());
  }

  /** Applies the changes, after COMMIT. */
  apply(): void {
    const effects = this.#effects;
    this.#effects = [];
    for (const effect of effects) effect();
  }

  /** Forgets the changes, after a rollback. */
  drop(): void {
    this.#effects = [];
  }

  /** Notes when a message is due. The argument is its lane, and then a `PlaceRow`. */
  #dueAt([lane, id, from, to, dueAt, isLookup]: readonly (SqlValue | boolean | undefined)[]): void {
    if (typeof dueAt !== "number") return;
    const pair = [String(from), String(to)] as const;
    const place: DuePlace = { id: String(id), lane: String(lane), dueAt, pair, isLookup: Boolean(isLookup) };
    this.#effects.push(() => this.#claims.note(place));
  }

  #shapeOf(properties: string): UpdateShape {
    const known = this.#shapes.get(properties);
    if (known !== undefined) return known;
    const names = properties.split(",");
    const isClaimChanged = CLAIMED.some((name) => names.includes(name));
    const [claimedUntil, dueAt, instanceId] = ["claimedUntil", "dueAt", "instanceId"].map((name) =>
      names.indexOf(name),
    );
    const shape = { isClaimChanged, claimedUntil, dueAt, instanceId } as UpdateShape;
    this.#shapes.set(properties, shape);
    return shape;
  }
}
