/** Conversations as the Mac has them: who is in a group, what it is called, which of our addresses it is written to. */

import type { Clock } from "../../clock.ts";
import { setBounded } from "../../core/bounded-map.ts";
import { listOf, numberOf, recordOf } from "../../core/loose-json.ts";
import type { GroupSnapshot } from "../provider.ts";
import { isNotFound, type Limits, type MacClient, pathSegment } from "./client.ts";
import { type MacChat, parseChat, parseHandle } from "./records.ts";
import { retryLater } from "./row-queue.ts";

/** How long what the Mac said of a conversation counts, unless something happens to it. */
const COUNTS_MS = 600_000;
const CHATS_MAX = 2_000;
const HANDLES_MAX = 20_000;

export class ChatCache {
  readonly #client: MacClient;
  readonly #clock: Clock;
  readonly #limits: Limits;
  readonly #chats = new Map<string, { chat: MacChat; at: number }>();
  /** Addresses by the number of their row among the Mac's handles. */
  readonly #handles = new Map<number, string>();

  constructor(client: MacClient, clock: Clock, limits: Limits) {
    this.#client = client;
    this.#clock = clock;
    this.#limits = limits;
  }

  /** The conversation with this guid, from memory or from the Mac; null where the Mac has none. Throws `RetryLater`. */
  async chat(guid: string): Promise<MacChat | null> {
    const known = this.#chats.get(guid);
    if (known !== undefined && this.#clock.real() - known.at < COUNTS_MS) return known.chat;
    const answer = await this.#client.get(`/chat/${pathSegment(guid)}`, { with: "participants" }, this.#limits);
    if (isNotFound(answer)) return null;
    if (answer.kind !== "ok") throw retryLater(answer);
    const chat = parseChat(answer.data);
    if (chat === null) return null;
    setBounded(this.#chats, guid, { chat, at: this.#clock.real() }, CHATS_MAX);
    this.#learnHandles(recordOf(answer.data)?.participants);
    return chat;
  }

  /** A group as it is now, by the chat of a row. Throws `RetryLater`. */
  async group(seen: MacChat): Promise<GroupSnapshot> {
    const chat = (await this.chat(seen.guid)) ?? seen;
    const name = seen.displayName ?? chat.displayName;
    return {
      reference: seen.guid,
      name: name === "" ? null : name,
      participants: chat.participants.map(({ address }) => address),
    };
  }

  /** Something happened to a conversation: the Mac is asked again. */
  invalidate(guid: string): void {
    this.#chats.delete(guid);
  }

  /** The address of a handle that was seen in a group; null for one that was not. */
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
