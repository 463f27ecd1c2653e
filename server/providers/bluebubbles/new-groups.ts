/** Groups that were made here and come to be on the Mac with their first message: how they are to be called, and that they are. */

import { createHash } from "node:crypto";
import type { CustomerId } from "../../core/id.ts";
import { jsonOf, numberOf, recordOf, textOf } from "../../core/loose-json.ts";
import { type Applied, type Memory, type Outbound, PeerFault, type Signal } from "../provider.ts";
import { describeFailure, pathSegment } from "./client.ts";
import type { Mac } from "./mac.ts";
import { parseChat } from "./records.ts";

/** Every key of a name that is to be given begins with it; then comes who is in the group. */
const PREFIX = "group-name/";
/** A group that nobody wrote to for so long keeps no name. */
const KEPT_MS = 30 * 86_400_000;

/** Names to be given, from `load` on. */
export class NewGroups {
  readonly #mac: Mac;
  readonly #memory: Memory;
  readonly #report: (signal: Signal) => Promise<Applied>;
  readonly #names = new Map<string, string>();

  constructor(mac: Mac, tell: (signal: Signal) => Promise<Applied>) {
    this.#mac = mac;
    this.#memory = mac.context.memory;
    this.#report = tell;
  }

  /** Takes up what the last process left. */
  async load(): Promise<void> {
    const now = this.#mac.context.clock.real();
    for (const { key, value } of await this.#memory.list(PREFIX)) {
      const { name, at } = parse(value);
      if (name !== null && now - at < KEPT_MS) this.#names.set(key, name);
      else await this.#memory.delete(key);
    }
  }

  /** A group is to be called so; a group of the same people has one name, the last. */
  async setName(
    group: { customerId: CustomerId; participants: readonly string[] },
    name: string | null,
  ): Promise<void> {
    const key = keyOf(group);
    if (name === null) {
      if (this.#names.delete(key)) await this.#memory.delete(key);
      return;
    }
    this.#names.set(key, name);
    await this.#memory.put(key, JSON.stringify({ name, at: this.#mac.context.clock.real() }));
  }

  /** A message went to a group whose guid the service does not know: it is told, and the group is named. */
  groupCreated(message: Outbound, guid: string): void {
    const { group } = message;
    if (group === null || group.reference !== null) return;
    const { context, chatGuids } = this.#mac;
    chatGuids.learnGroup(group.participants, guid);
    // Should telling fail, the next message to the group tells it again, and so does the first that comes from there.
    this.#announce(message, group, guid).catch((error: unknown) => context.fault(error));
  }

  async #announce(message: Outbound, group: NonNullable<Outbound["group"]>, guid: string): Promise<void> {
    const key = keyOf(group);
    const wished = this.#names.get(key) ?? null;
    const given = await this.#nameOf(guid);
    // Messages may have had a group of these people: the name that they know it by stays.
    const name = given ?? wished;
    await this.#report({
      kind: "group",
      reference: `made ${guid} ${message.messageId}`,
      to: message.from,
      channel: message.channel,
      group: { reference: guid, name, participants: group.participants },
      // Nobody came: it says who is in it, and by which guid it goes.
      change: "participantAdded",
      participant: null,
      title: null,
      actor: null,
    });
    if (wished === null) return;
    if (given !== null) return this.#forget(key);
    await this.#mac.rateLimiter.acquire();
    const answer = await this.#mac.client.put(
      `/chat/${pathSegment(guid)}`,
      { displayName: wished },
      { limitMs: 30_000 },
    );
    if (answer.kind === "ok") await this.#forget(key);
  }

  async #forget(key: string): Promise<void> {
    this.#names.delete(key);
    await this.#memory.delete(key);
  }

  /** The name of a group at the phone; null where it has none. Throws where the Mac does not say: the next message asks again. */
  async #nameOf(guid: string): Promise<string | null> {
    const answer = await this.#mac.client.get(`/chat/${pathSegment(guid)}`);
    if (answer.kind !== "ok") throw new PeerFault(`the name of a group was not read: ${describeFailure(answer)}`);
    const name = parseChat(answer.data)?.displayName ?? "";
    return name === "" ? null : name;
  }
}

function keyOf({ customerId, participants }: { customerId: CustomerId; participants: readonly string[] }): string {
  const people = [...new Set(participants.map((one) => one.toLowerCase()))].sort();
  const digest = createHash("sha256")
    .update([customerId, ...people].join("\n"))
    .digest("hex");
  return `${PREFIX}${digest.slice(0, 32)}`;
}

function parse(text: string): { name: string | null; at: number } {
  const record = recordOf(jsonOf(text));
  return { name: textOf(record?.name), at: numberOf(record?.at) ?? 0 };
}
