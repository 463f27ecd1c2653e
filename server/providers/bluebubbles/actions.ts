/** What a Mac is asked to do but send: react, edit, take back, mark, type, look after groups, say who is there, fetch. */

import { recordOf, textOf } from "../../core/loose-json.ts";
import { maskAddress } from "../../core/phone.ts";
import {
  type ActionResult,
  type Actions,
  type Availability,
  type Conversation,
  type FocusState,
  PeerFault,
} from "../provider.ts";
import { isAvailable } from "./availability.ts";
import {
  describeFailure,
  type Failure,
  isBlueBubblesError,
  isNotFound,
  type MacResponse,
  pathSegment,
} from "./client.ts";
import { isRetracted } from "./inbound.ts";
import type { Mac } from "./mac.ts";
import type { NewGroups } from "./new-groups.ts";
import { classifyFailure } from "./outcomes.ts";
import { type MacMessage, parseMessage } from "./records.ts";
import { stopsTyping } from "./status.ts";

/** The engine gives a command up after 20 s: what is asked here is not waited for much longer. */
const COMMAND_LIMIT_MS = 30_000;
const READ_LIMIT_MS = 15_000;
/** As much as a file of ours may have. */
const FILE_BYTES_MAX = 104_857_600;
/** The Mac gets a file from iCloud first; the engine waits 20 s. */
const FETCH_LIMIT_MS = 120_000;

const DONE: ActionResult = { done: true };

/** The commands of a Mac. */
export function createActions(mac: Mac, newGroups: NewGroups): Actions {
  const { client, health } = mac;
  return {
    async react({ reference, chat }, reaction, abort) {
      return inChat(mac, chat, abort, async (chatGuid) => {
        const body = { chatGuid, selectedMessageGuid: reference, reaction, partIndex: 0 };
        const answer = await client.post("/message/react", body, limits(abort));
        const error = answer.kind === "ok" ? (parseMessage(answer.data)?.error ?? 0) : 0;
        return error === 0 ? answer : refusal(`Messages failed to send the reaction (error ${error})`);
      });
    },
    async edit({ reference, text: before }, text, backwardsCompatibilityMessage, abort) {
      const body = { editedMessage: text, backwardsCompatibilityMessage, partIndex: 0 };
      const path = `/message/${pathSegment(reference)}/edit`;
      // One that was edited before has the date of that: what it says shows whether it was changed now.
      const isDone = (row: MacMessage) => row.dateEdited !== null && (row.text !== before || text === before);
      return revised(mac, abort, path, body, isDone, "Apple allows edits for 15 minutes");
    },
    async unsend({ reference }, abort) {
      const path = `/message/${pathSegment(reference)}/unsend`;
      return revised(mac, abort, path, { partIndex: 0 }, isUnsent, "Apple allows unsending for 2 minutes");
    },
    markRead: (chat, abort) =>
      inChat(mac, chat, abort, (guid) => client.post(`/chat/${pathSegment(guid)}/read`, {}, limits(abort))),
    markUnread: (chat, abort) =>
      inChat(mac, chat, abort, (guid) => client.post(`/chat/${pathSegment(guid)}/unread`, {}, limits(abort))),
    async setTyping(chat, typing, abort) {
      // Where the call to stop would start it, the next message or Messages itself ends it.
      if (!typing && !stopsTyping(health.info)) return DONE;
      return inChat(mac, chat, abort, (guid) => {
        const path = `/chat/${pathSegment(guid)}/typing`;
        return typing ? client.post(path, {}, limits(abort)) : client.delete(path, undefined, limits(abort));
      });
    },
    async createGroup({ customerId, name, participants }) {
      // The Mac makes none without a message: it comes to be with the first, and is named then.
      await newGroups.setName({ customerId, participants }, name);
      return { done: true, reference: null };
    },
    renameGroup: (chat, name, abort) =>
      inChat(mac, chat, abort, (guid) =>
        client.put(`/chat/${pathSegment(guid)}`, { displayName: name }, limits(abort)),
      ),
    addParticipant: (chat, address, abort) =>
      inChat(mac, chat, abort, (guid) =>
        client.post(`/chat/${pathSegment(guid)}/participant/add`, { address }, limits(abort)),
      ),
    removeParticipant: (chat, address, abort) =>
      inChat(mac, chat, abort, (guid) =>
        client.post(`/chat/${pathSegment(guid)}/participant/remove`, { address }, limits(abort)),
      ),
    leaveGroup: (chat, abort) =>
      inChat(mac, chat, abort, (guid) => client.post(`/chat/${pathSegment(guid)}/leave`, {}, limits(abort))),
    async availability(_customerId, address, abort): Promise<Availability> {
      const limited = { limitMs: READ_LIMIT_MS, abort };
      const [imessage, facetime] = await Promise.all([
        isAvailable(mac, "imessage", address, limited),
        isAvailable(mac, "facetime", address, limited),
      ]);
      return { imessage, facetime };
    },
    focus: (_customerId, address, abort) => focusOf(mac, address, abort),
    fetch: (reference, abort) => fetch(mac, reference, abort),
  };
}

function isUnsent(row: MacMessage): boolean {
  return isRetracted(row) || (row.dateEdited !== null && (row.text ?? "") === "");
}

/** Does something in a conversation's chat, in the Mac's time. */
async function inChat(
  mac: Mac,
  chat: Conversation,
  abort: AbortSignal,
  ask: (guid: string) => Promise<MacResponse>,
): Promise<ActionResult> {
  const { chatGuids, rateLimiter } = mac;
  const guid = await guidOf(mac, chat);
  if (typeof guid !== "string") return guid;
  await rateLimiter.acquire(abort);
  const answer = await ask(guid);
  if (answer.kind !== "ok" && classifyFailure(answer) === "noChat") chatGuids.forget(guid);
  return ordered(mac, answer);
}

async function guidOf(mac: Mac, { contact, reference, channel }: Conversation): Promise<string | ActionResult> {
  if (reference !== null) return reference;
  if (contact === null) return { done: false, reason: "the Mac makes the group with the first message to it" };
  const found = await mac.chatGuids.findThread(contact, channel);
  if (found.kind === "found") return found.guid;
  if (found.kind === "none")
    return { done: false, reason: `the Mac has no conversation with ${maskAddress(contact)} yet` };
  return ordered(mac, found);
}

/** An edit or the taking back of a message: the Mac says it is done, the row says whether it is. */
async function revised(
  mac: Mac,
  abort: AbortSignal,
  path: string,
  body: object,
  isDone: (row: MacMessage) => boolean,
  limitInWords: string,
): Promise<ActionResult> {
  await mac.rateLimiter.acquire(abort);
  const answer = await mac.client.post(path, body, limits(abort));
  if (answer.kind !== "ok") return ordered(mac, answer);
  const row = parseMessage(answer.data);
  if (row !== null && !isDone(row)) {
    return { done: false, reason: `Messages left the message as it is (${limitInWords})` };
  }
  return DONE;
}

function ordered({ health }: Mac, answer: MacResponse): ActionResult {
  if (answer.kind === "ok") return DONE;
  // What is no error of BlueBubbles may be that of a path which another version has.
  const isRoute = answer.kind === "answered" && answer.type === null;
  if (classifyFailure(answer) === "notAttempted" && !isRoute) health.reportDown(answer);
  const doubt = answer.kind === "lost" ? "; it may have been done" : "";
  return { done: false, reason: `${describeFailure(answer)}${doubt}` };
}

/**
 * Whether somebody shares that notifications are silenced; which mode it is Apple does not say. Somebody the Mac has no
 * handle of, or cannot tell of, counts as not silenced. Throws where the Mac does not answer.
 */
async function focusOf({ client, rateLimiter }: Mac, address: string, abort: AbortSignal): Promise<FocusState> {
  await rateLimiter.acquire(abort);
  const answer = await client.get(`/handle/${pathSegment(address)}/focus`, {}, { limitMs: READ_LIMIT_MS, abort });
  if (answer.kind === "ok") return { focused: textOf(recordOf(answer.data)?.status) === "silenced" };
  if (isNotFound(answer)) return { focused: false };
  throw new PeerFault(describeFailure(answer));
}

/** The file as it was sent: without `original` the Mac makes another kind of it. */
async function fetch({ client, rateLimiter }: Mac, guid: string, abort: AbortSignal): Promise<Uint8Array | null> {
  const path = `/attachment/${pathSegment(guid)}/download`;
  const limited = { limitMs: FETCH_LIMIT_MS, abort };
  const first = await client.download(path, { original: "true", force: "false" }, FILE_BYTES_MAX, limited);
  if (first.kind === "ok") return first.bytes;
  if (!says(first, /does not exist in disk/i)) return gone(first);
  await rateLimiter.acquire(abort);
  const forced = await client.download(`${path}/force`, { original: "true" }, FILE_BYTES_MAX, limited);
  return forced.kind === "ok" ? forced.bytes : gone(forced);
}

/** Null where the Mac no longer has it; throws where it may have. */
function gone(failure: Failure): null {
  if (isNotFound(failure) || says(failure, /does not exist|of null/i)) return null;
  throw new Error(describeFailure(failure));
}

function says(failure: Failure, words: RegExp): boolean {
  return failure.kind === "answered" && isBlueBubblesError(failure) && words.test(failure.message);
}

function refusal(message: string): Failure {
  return { kind: "answered", status: 200, type: "iMessage Error", message };
}

function limits(abort: AbortSignal) {
  return { limitMs: COMMAND_LIMIT_MS, abort };
}
