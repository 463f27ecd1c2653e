/** Cache of chat guids: looked up once, and dropped when the Mac no longer knows the guid. */

import type { Channel } from "../../../sdk/wire.ts";
import { Cached } from "../../core/cached.ts";
import { peopleKey } from "../../core/phone-forms.ts";
import { answerTo } from "../../core/routing.ts";
import { type Failure, isNotFound, type Limits, type MacClient, pathSegment } from "./client.ts";
import { channelOfService, isGroupChat, type MacChat, parseChat, serviceOfGuid } from "./records.ts";

/** Limit of cached guids. */
const KEPT_MAX = 20_000;

/** From macOS 26 on, one guid that begins with `any` covers all services of a thread. */
const MACOS_WITH_ANY = 26;

/** Result of a lookup; `none` if the Mac has no thread with that address. */
export type ThreadLookup = { kind: "found"; guid: string } | { kind: "none" } | Failure;

export interface ChatGuidsOptions {
  client: MacClient;
  /** Major version of the Mac's macOS; null if not known. */
  macosMajor: () => number | null;
}

/** Guids of threads by address and channel, and of groups by participants. */
export class ChatGuids {
  readonly #client: MacClient;
  readonly #macosMajor: () => number | null;
  readonly #guids = new Cached<string, string>({ max: KEPT_MAX });

  constructor({ client, macosMajor }: ChatGuidsOptions) {
    this.#client = client;
    this.#macosMajor = macosMajor;
  }

  /** Finds the guid of the thread with `address`, in the cache or on the Mac. Makes no Private API call. */
  async findThread(address: string, channel: Channel, limits: Limits = {}): Promise<ThreadLookup> {
    const known = this.#guids.peek(threadKey(address, channel));
    if (known !== undefined) return { kind: "found", guid: known };
    for (const guid of candidates(address, channel, this.#macosMajor())) {
      const response = await this.#client.get(`/chat/${pathSegment(guid)}`, {}, limits);
      if (response.kind === "ok") {
        const found = parseChat(response.data)?.guid ?? guid;
        this.#guids.keep(threadKey(address, channel), found);
        return { kind: "found", guid: found };
      }
      if (!isNotFound(response)) return response;
    }
    return { kind: "none" };
  }

  /** Returns the guid of a group that this service began; null if the guid is not known yet. */
  findGroup(participants: readonly string[]): string | null {
    return this.#guids.peek(groupKey(participants)) ?? null;
  }

  /** Caches a chat that a row named, under the channel that answers it. The address of a thread is taken from its guid. */
  learn(chat: MacChat, received: Channel): void {
    const channel = answerTo(received);
    if (!isGroupChat(chat)) {
      // A message that Messages sent as SMS instead names its SMS thread, which is not the iMessage thread.
      const other = channelOfService(serviceOfGuid(chat.guid)) ?? channel;
      if (answerTo(other) === channel) this.#guids.keep(threadKey(identifierOf(chat.guid), channel), chat.guid);
    } else if (chat.participants.length > 0) {
      this.#guids.keep(groupKey(chat.participants.map(({ address }) => address)), chat.guid);
    }
  }

  /** Caches a group under the participants it was created with, however the Mac formats their addresses. */
  learnGroup(participants: readonly string[], guid: string): void {
    this.#guids.keep(groupKey(participants), guid);
  }

  /** Drops a guid that the Mac does not know. */
  forget(guid: string): void {
    this.#guids.forgetWhere((kept) => kept === guid);
  }
}

/** The part of a guid after the second semicolon, which the Mac stores as `chat_identifier`. */
export function identifierOf(guid: string): string {
  const [, , ...rest] = guid.split(";");
  return rest.length === 0 ? guid : rest.join(";");
}

/** Whether two lists name the same people, in any order and form. */
export function isSamePeople(one: readonly string[], other: readonly string[]): boolean {
  return groupKey(one) === groupKey(other);
}

function candidates(address: string, channel: Channel, macosMajor: number | null): string[] {
  const any = `any;-;${address}`;
  const own = channel === "imessage" ? `iMessage;-;${address}` : `SMS;-;${address}`;
  // The more likely guid comes first: a miss costs a request.
  const anyFirst = channel === "imessage" && (macosMajor === null || macosMajor >= MACOS_WITH_ANY);
  return anyFirst ? [any, own] : [own, any];
}

function threadKey(address: string, channel: Channel): string {
  return `${channel} ${address.toLowerCase()}`;
}

function groupKey(participants: readonly string[]): string {
  return `group ${peopleKey(participants.map((one) => one.toLowerCase()))}`;
}
