/** Cache of the Mac's chats: participants and name of a group, and the own address that a chat belongs to. */

import type { Clock } from "../../clock.ts";
import { setBounded } from "../../core/bounded-map.ts";
import type { GroupSnapshot } from "../../core/group.ts";
import { listOf, numberOf, recordOf } from "../../core/loose-json.ts";
import { isNotFound, type Limits, type MacClient, pathSegment } from "./client.ts";
import { type MacChat, parseChat, parseHandle } from "./records.ts";
import { retryLater } from "./row-queue.ts";

/** Lifetime of a cached chat, unless a row reports a change. */
const COUNTS_MS = 600_000;
const CHATS_MAX = 2_000;
const HANDLES_MAX = 20_000;

export class ChatCache {
  readonly #client: MacClient;
  readonly #clock: Clock;
  readonly #limits: Limits;
  readonly #chats = new Map<string, { chat: MacChat; at: number }>();
  /** Addresses by the row ids of the Mac's handles. */
  readonly #handles = new Map<number, string>();

  constructor(client: MacClient, clock: Clock, limits: Limits) {
    this.#client = client;
    this.#clock = clock;
    this.#limits = limits;
  }

  /** Returns the chat with this guid, cached or from the Mac; null if the Mac has none. Throws `RetryLater`. */
  async chat(guid: string): Promise<MacChat | null> {
    const known = this.#chats.get(guid);
    if (known !== undefined && this.#clock.real() - known.at < COUNTS_MS) return known.chat;
    const response = await this.#client.get(`/chat/${pathSegment(guid)}`, { with: "participants" }, this.#limits);
    if (isNotFound(response)) return null;
    if (response.kind !== "ok") throw retryLater(response);
    const chat = parseChat(response.data);
    if (chat === null) return null;
    setBounded(this.#chats, guid, { chat, at: this.#clock.real() }, CHATS_MAX);
    this.#learnHandles(recordOf(response.data)?.participants);
    return chat;
  }

  /** Returns the current state of a group that a row names. Throws `RetryLater`. */
  async group(seen: MacChat): Promise<GroupSnapshot> {
    const chat = (await this.chat(seen.guid)) ?? seen;
    const name = seen.displayName ?? chat.displayName;
    return {
      reference: seen.guid,
      name: name === "" ? null : name,
      participants: chat.participants.map(({ address }) => address),
    };
  }

  /** Drops a chat that has changed. */
  invalidate(guid: string): void {
    this.#chats.delete(guid);
  }

  /** Address of a handle seen in a group; null if not known. */
  addressOf(handle: number | null): string | null {
    return handle === null ? null : (this.#handles.get(handle) ?? null);
  }

  #learnHandles(participants: unknown): void {
    for (const record of listOf(participants, recordOf)) {
      const number = numberOf(record.originalROWID);
      const handle = parseHandle(record);
      if (number !== null && handle !== null) setBounded(this.#handles, number, handle.address, HANDLES_MAX);
    }
  }
}
