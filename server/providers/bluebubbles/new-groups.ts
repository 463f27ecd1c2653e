/** Groups created by this service. They exist on the Mac from their first message on; then they are named and reported. */

import { createHash } from "node:crypto";
import type { CustomerId } from "../../core/id.ts";
import { jsonOf, numberOf, recordOf, textOf } from "../../core/loose-json.ts";
import { phoneKey } from "../../core/phone-forms.ts";
import { Journal } from "../kit/journal.ts";
import { type Applied, type Outbound, PeerFault, type Signal } from "../provider.ts";
import { describeFailure, pathSegment } from "./client.ts";
import type { Mac } from "./mac.ts";
import { parseChat } from "./records.ts";

/** Prefix of the keys of pending names; a digest of customer and participants follows. */
const PREFIX = "group-name/";
/** A pending name expires after this time without a message to the group. */
const KEPT_MS = 30 * 86_400_000;
/** Pending names at once. Beyond this number the oldest is forgotten, and its group gets no name. */
const NAMES_MAX = 10_000;

interface PendingName {
  name: string;
  at: number;
}

/** Pending names of groups. Call `load` first. */
export class NewGroups {
  readonly #mac: Mac;
  readonly #report: (signal: Signal) => Promise<Applied>;
  readonly #names: Journal<PendingName>;

  constructor(mac: Mac, report: (signal: Signal) => Promise<Applied>) {
    this.#mac = mac;
    this.#report = report;
    const { memory, clock } = mac.context;
    this.#names = new Journal({
      memory,
      prefix: PREFIX,
      format: ({ name, at }) => JSON.stringify({ name, at }),
      parse: (text) => parse(text, clock.real()),
      ageOf: ({ at }) => at,
      max: NAMES_MAX,
    });
  }

  /** Reads the pending names that the previous process left. */
  load(): Promise<void> {
    return this.#names.load();
  }

  /** Sets the name that a group gets with its first message. The last name for the same participants counts. */
  async setName(
    group: { customerId: CustomerId; participants: readonly string[] },
    name: string | null,
  ): Promise<void> {
    const key = keyOf(group);
    if (name === null) {
      if (this.#names.get(key) !== null) await this.#names.delete(key);
      return;
    }
    this.#names.set(key, { name, at: this.#mac.context.clock.real() });
    await this.#names.save(key);
  }

  /** A message created a group whose guid the service does not know: reports the group and names it. */
  groupCreated(message: Outbound, guid: string): void {
    const { group } = message;
    if (group === null || group.reference !== null) return;
    const { context, chatGuids } = this.#mac;
    chatGuids.learnGroup(group.participants, guid);
    // If the report fails, the next message to or from the group reports the group again.
    this.#announce(message, group, guid).catch((error: unknown) => context.fault(error));
  }

  async #announce(message: Outbound, group: NonNullable<Outbound["group"]>, guid: string): Promise<void> {
    const key = keyOf(group);
    const requested = this.#names.get(key)?.name ?? null;
    const existing = await this.#nameOf(guid);
    // Messages may already have a group of these people. Then the group keeps its name.
    const name = existing ?? requested;
    await this.#report({
      kind: "group",
      reference: `made ${guid} ${message.messageId}`,
      to: message.from,
      channel: message.channel,
      group: { reference: guid, name, participants: group.participants },
      // Nobody joined: the signal reports the participants and the guid.
      change: "participantAdded",
      participant: null,
      title: null,
      actor: null,
    });
    if (requested === null) return;
    if (existing !== null) return this.#names.delete(key);
    await this.#mac.rateLimiter.acquire();
    const response = await this.#mac.client.put(
      `/chat/${pathSegment(guid)}`,
      { displayName: requested },
      { limitMs: 30_000 },
    );
    if (response.kind === "ok") await this.#names.delete(key);
  }

  /** Name of a group on the Mac; null if it has none. Throws if the Mac does not respond: the next message tries again. */
  async #nameOf(guid: string): Promise<string | null> {
    const response = await this.#mac.client.get(`/chat/${pathSegment(guid)}`);
    if (response.kind !== "ok")
      throw new PeerFault(`the name of a group could not be read: ${describeFailure(response)}`);
    const name = parseChat(response.data)?.displayName ?? "";
    return name === "" ? null : name;
  }
}

function keyOf({ customerId, participants }: { customerId: CustomerId; participants: readonly string[] }): string {
  const people = [...new Set(participants.map((one) => phoneKey(one.toLowerCase())))].sort();
  const digest = createHash("sha256")
    .update([customerId, ...people].join("\n"))
    .digest("hex");
  return digest.slice(0, 32);
}

/** Null if the name has expired. */
function parse(text: string, now: number): PendingName | null {
  const record = recordOf(jsonOf(text));
  const [name, at] = [textOf(record?.name), numberOf(record?.at) ?? 0];
  return name === null || now - at >= KEPT_MS ? null : { name, at };
}
