/** Wakes other processes for work that this process has committed for them, so that they find it without a look. */

import type { DeliveryId, InstanceId } from "../../core/id.ts";
import type { MemberWake } from "../../core/member-wake.ts";
import type { Member } from "../../store/members.ts";
import type { Membership } from "./membership.ts";

/** A wake names at most this many lanes and deliveries. Beyond it, the other process looks at all of its lanes. */
const NAMES_MAX = 1_000;

/** The parts of `MemberWakes`. */
interface WakingParts {
  membership: Pick<Membership, "isAlone" | "member" | "others" | "ownerOf" | "ownerOfLane">;
  /** Sends a wake to the process at a base URL. Resolves once the wake has arrived or is given up. */
  send(url: string, wake: MemberWake | "all"): Promise<void>;
}

/** The next wake of one process. */
class NextWake {
  /** The address that the process last reported. */
  url: string;
  readonly #names = { messages: new Set<InstanceId>(), deliveries: new Set<string>(), atOnce: new Set<DeliveryId>() };
  #isAll = false;

  constructor(url: string) {
    this.url = url;
  }

  get isEmpty(): boolean {
    return !this.#isAll && this.#count === 0;
  }

  get #count(): number {
    const { messages, deliveries, atOnce } = this.#names;
    return messages.size + deliveries.size + atOnce.size;
  }

  addMessages(lane: InstanceId): void {
    if (this.#isAll) return;
    this.#names.messages.add(lane);
    this.#bound();
  }

  addDeliveries(lane: string, atOnce: readonly DeliveryId[]): void {
    if (this.#isAll) return;
    this.#names.deliveries.add(lane);
    for (const id of atOnce) this.#names.atOnce.add(id);
    this.#bound();
  }

  #bound(): void {
    if (this.#count <= NAMES_MAX) return;
    this.#isAll = true;
    this.#clear();
  }

  #clear(): void {
    for (const names of Object.values(this.#names)) names.clear();
  }

  /** Removes and returns everything that was added. */
  take(): MemberWake | "all" {
    const { messages, deliveries, atOnce } = this.#names;
    const wake = this.#isAll ? "all" : { messages: [...messages], deliveries: [...deliveries], atOnce: [...atOnce] };
    this.#isAll = false;
    this.#clear();
    return wake;
  }
}

/**
 * Collects the wakes of each other process. The first wake goes at once, with all that the same turn of the event loop
 * adds. While a wake is on its way to a process, further wakes are collected and go as one. Nothing waits for a wake,
 * and the sender does not repeat, log or count it: a lost wake costs a look.
 */
export class MemberWakes {
  readonly #parts: WakingParts;
  /** The processes to which a wake is on its way, by their ids. */
  readonly #next = new Map<Member["id"], NextWake>();
  #isStopped = false;

  constructor(parts: WakingParts) {
    this.#parts = parts;
  }

  /** Messages of these instances may be due: wakes the owners of the instances. */
  messages(lanes: Iterable<string>): void {
    if (this.#hasNobody) return;
    for (const lane of lanes)
      this.#nextOf(this.#parts.membership.ownerOf(lane as InstanceId))?.addMessages(lane as InstanceId);
  }

  /** Deliveries of these lanes may be due: wakes the owners of the lanes. `atOnce`: deliveries among them that a person asks for. */
  deliveries(lanes: Iterable<string>, atOnce: readonly DeliveryId[] = []): void {
    if (this.#hasNobody) return;
    for (const lane of lanes) this.#nextOf(this.#parts.membership.ownerOfLane(lane))?.addDeliveries(lane, atOnce);
  }

  /** Stops sending wakes. */
  stop(): void {
    this.#isStopped = true;
  }

  get #hasNobody(): boolean {
    const { membership } = this.#parts;
    return this.#isStopped || membership.isAlone || membership.others().length === 0;
  }

  /** Null for this process, for no process, and for a process that nobody can reach. */
  #nextOf(member: Member | null): NextWake | null {
    if (member === null || member.url === null || member.id === this.#parts.membership.member.id) return null;
    const known = this.#next.get(member.id);
    if (known !== undefined) {
      known.url = member.url;
      return known;
    }
    const { id, url } = member;
    const next = new NextWake(url);
    this.#next.set(id, next);
    setImmediate(() => void this.#sendAll(id, next));
    return next;
  }

  /** Sends one wake after the other, until nothing is added while a wake is on its way. Never throws. */
  async #sendAll(id: Member["id"], next: NextWake): Promise<void> {
    while (!next.isEmpty && !this.#isStopped) await this.#parts.send(next.url, next.take()).catch(() => {});
    this.#next.delete(id);
  }
}
