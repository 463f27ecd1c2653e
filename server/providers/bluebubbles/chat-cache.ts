/** Cache of the Mac's chats: participants and name of a group, and the own address that a chat belongs to. */

import type { Clock } from "../../clock.ts";
import { Cached } from "../../core/cached.ts";
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
  readonly #limits: Limits;
  readonly #chats: Cached<string, MacChat | null>;
  /** Addresses by the row ids of the Mac's handles. */
  readonly #handles = new Cached<number, string>({ max: HANDLES_MAX });

  constructor(client: MacClient, clock: Clock, limits: Limits) {
    this.#client = client;
    this.#limits = limits;
    const expiry = { now: () => clock.real(), keptMs: () => COUNTS_MS };
    this.#chats = new Cached({ max: CHATS_MAX, keeps: (chat) => chat !== null, expiry });
  }

  /** Returns the chat with this guid, cached or from the Mac; null if the Mac has none. Throws `RetryLater`. */
  chat(guid: string): Promise<MacChat | null> {
    return this.#chats.get(guid, () => this.#read(guid));
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
    this.#chats.forget(guid);
  }

  /** Address of a handle seen in a group; null if not known. */
  addressOf(handle: number | null): string | null {
    return handle === null ? null : (this.#handles.peek(handle) ?? null);
  }

  async #read(guid: string): Promise<MacChat | null> {
    const response = await this.#client.get(`/chat/${pathSegment(guid)}`, { with: "participants" }, this.#limits);
    if (isNotFound(response)) return null;
    if (response.kind !== "ok") throw retryLater(response);
    const chat = parseChat(response.data);
    if (chat !== null) this.#learnHandles(recordOf(response.data)?.participants);
    return chat;
  }

  #learnHandles(participants: unknown): void {
    for (const record of listOf(participants, recordOf)) {
      const number = numberOf(record.originalROWID);
      const handle = parseHandle(record);
      if (number !== null && handle !== null) this.#handles.keep(number, handle.address);
    }
  }
}
