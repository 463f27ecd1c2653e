/** The Mac's names of conversations: found out once, kept in memory, forgotten when the Mac denies them. */

import type { Channel } from "../../../sdk/wire.ts";
import { setBounded } from "../../core/bounded-map.ts";
import { type Failure, isNotFound, type Limits, type MacClient, pathSegment } from "./client.ts";
import { channelOfService, isGroupChat, type MacChat, parseChat, serviceOfGuid } from "./records.ts";

/** Conversations kept at once; the one that was found out first goes. */
const KEPT_MAX = 20_000;

/** From macOS 26 on a thread has one guid whatever its service, which begins with `any`. */
const MACOS_WITH_ANY = 26;

/** What came of looking for a conversation: `none` where the Mac has none with that address. */
export type ThreadLookup = { kind: "found"; guid: string } | { kind: "none" } | Failure;

export interface ChatGuidsOptions {
  client: MacClient;
  /** The Mac's major version of macOS, where it is known. */
  macosMajor: () => number | null;
}

/** Guids by address and channel; of groups by who is in them. */
export class ChatGuids {
  readonly #client: MacClient;
  readonly #macosMajor: () => number | null;
  readonly #guids = new Map<string, string>();

  constructor({ client, macosMajor }: ChatGuidsOptions) {
    this.#client = client;
    this.#macosMajor = macosMajor;
  }

  /** The guid of the thread with `address`, from memory or from the Mac; costs no call of the Private API. */
  async findThread(address: string, channel: Channel, limits: Limits = {}): Promise<ThreadLookup> {
    const known = this.#guids.get(threadKey(address, channel));
    if (known !== undefined) return { kind: "found", guid: known };
    for (const guid of candidates(address, channel, this.#macosMajor())) {
      const answer = await this.#client.get(`/chat/${pathSegment(guid)}`, {}, limits);
      if (answer.kind === "ok") {
        const found = parseChat(answer.data)?.guid ?? guid;
        this.#remember(threadKey(address, channel), found);
        return { kind: "found", guid: found };
      }
      if (!isNotFound(answer)) return answer;
    }
    return { kind: "none" };
  }

  /** The guid of a group that was begun here and has not been told of yet. */
  findGroup(participants: readonly string[]): string | null {
    return this.#guids.get(groupKey(participants)) ?? null;
  }

  /** Remembers a chat that was seen, and who is in it where that is told. A thread is with whom its guid says. */
  learn(chat: MacChat, channel: Channel): void {
    if (!isGroupChat(chat)) {
      // A message that Messages sent on as an SMS names the thread of that: it is none of iMessage's.
      const other = channelOfService(serviceOfGuid(chat.guid)) ?? channel;
      if (other === channel) this.#remember(threadKey(identifierOf(chat.guid), channel), chat.guid);
    } else if (chat.participants.length > 0) {
      this.#remember(groupKey(chat.participants.map(({ address }) => address)), chat.guid);
    }
  }

  /** Remembers a group under those it was made of, whatever the Mac made of their addresses. */
  learnGroup(participants: readonly string[], guid: string): void {
    this.#remember(groupKey(participants), guid);
  }

  /** The Mac denies this guid. */
  forget(guid: string): void {
    for (const [key, kept] of this.#guids) if (kept === guid) this.#guids.delete(key);
  }

  #remember(key: string, guid: string): void {
    setBounded(this.#guids, key, guid, KEPT_MAX);
  }
}

/** What stands for a conversation in the Mac's table of chats (`chat_identifier`): what follows the second semicolon. */
export function identifierOf(guid: string): string {
  const [, , ...rest] = guid.split(";");
  return rest.length === 0 ? guid : rest.join(";");
}

/** Two lists of addresses that are the same people, in whatever order. */
export function isSamePeople(one: readonly string[], other: readonly string[]): boolean {
  return groupKey(one) === groupKey(other);
}

function candidates(address: string, channel: Channel, macosMajor: number | null): string[] {
  const any = `any;-;${address}`;
  const own = channel === "imessage" ? `iMessage;-;${address}` : `SMS;-;${address}`;
  // What is likely comes first: a miss costs a request.
  const anyFirst = channel === "imessage" && (macosMajor === null || macosMajor >= MACOS_WITH_ANY);
  return anyFirst ? [any, own] : [own, any];
}

function threadKey(address: string, channel: Channel): string {
  return `${channel} ${address.toLowerCase()}`;
}

function groupKey(participants: readonly string[]): string {
  return `group ${[...new Set(participants.map((one) => one.toLowerCase()))].sort().join(" ")}`;
}
