/** Actions on a Mac other than sending: reactions, edits, unsends, read marks, typing, groups, availability, files. */

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

/** The engine aborts an action after 20 s. This limit is a little longer. */
const COMMAND_LIMIT_MS = 30_000;
const READ_LIMIT_MS = 15_000;
/** Size limit of a file, equal to the service's own. */
const FILE_BYTES_MAX = 104_857_600;
/** The Mac may first download the file from iCloud; the engine waits 20 s. */
const FETCH_LIMIT_MS = 120_000;

const DONE: ActionResult = { done: true };

/** Creates the actions of a Mac. */
export function createActions(mac: Mac, newGroups: NewGroups): Actions {
  const { client, health } = mac;
  return {
    async react({ reference, chat }, reaction, abort) {
      return inChat(mac, chat, abort, async (chatGuid) => {
        const body = { chatGuid, selectedMessageGuid: reference, reaction, partIndex: 0 };
        const response = await client.post("/message/react", body, limits(abort));
        const error = response.kind === "ok" ? (parseMessage(response.data)?.error ?? 0) : 0;
        return error === 0 ? response : refusal(`Messages failed to send the reaction (error ${error})`);
      });
    },
    async edit({ reference, text: before }, text, backwardsCompatibilityMessage, abort) {
      const body = { editedMessage: text, backwardsCompatibilityMessage, partIndex: 0 };
      const path = `/message/${pathSegment(reference)}/edit`;
      // A message edited before already has an edit date, so the text shows whether this edit took effect.
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
      // Older versions start typing when asked to stop. There, the next message or Messages itself ends it.
      if (!typing && !stopsTyping(health.info)) return DONE;
      return inChat(mac, chat, abort, (guid) => {
        const path = `/chat/${pathSegment(guid)}/typing`;
        return typing ? client.post(path, {}, limits(abort)) : client.delete(path, undefined, limits(abort));
      });
    },
    async createGroup({ customerId, name, participants }) {
      // BlueBubbles cannot create a group without a message. The first message creates and names it.
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

/** Does something in a conversation's chat, as soon as the rate limiter admits it. */
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
  const response = await ask(guid);
  if (response.kind !== "ok" && classifyFailure(response) === "noChat") chatGuids.forget(guid);
  return ordered(mac, response);
}

async function guidOf(mac: Mac, { contact, reference, channel }: Conversation): Promise<string | ActionResult> {
  if (reference !== null) return reference;
  if (contact === null) return { done: false, reason: "the group does not exist on the Mac before its first message" };
  const found = await mac.chatGuids.findThread(contact, channel);
  if (found.kind === "found") return found.guid;
  if (found.kind === "none")
    return { done: false, reason: `the Mac has no conversation with ${maskAddress(contact)} yet` };
  return ordered(mac, found);
}

/** Edits or unsends a message. The Mac reports success in any case, so the returned row decides. */
async function revised(
  mac: Mac,
  abort: AbortSignal,
  path: string,
  body: object,
  isDone: (row: MacMessage) => boolean,
  limitInWords: string,
): Promise<ActionResult> {
  await mac.rateLimiter.acquire(abort);
  const response = await mac.client.post(path, body, limits(abort));
  if (response.kind !== "ok") return ordered(mac, response);
  const row = parseMessage(response.data);
  if (row !== null && !isDone(row)) {
    return { done: false, reason: `Messages did not change the message (${limitInWords})` };
  }
  return DONE;
}

function ordered({ health }: Mac, response: MacResponse): ActionResult {
  if (response.kind === "ok") return DONE;
  // An error without BlueBubbles' own format may mean that this version lacks the route.
  const isRoute = response.kind === "errorResponse" && response.type === null;
  if (classifyFailure(response) === "notAttempted" && !isRoute) health.reportDown(response);
  const doubt = response.kind === "noResponse" ? "; it may have been done" : "";
  return { done: false, reason: `${describeFailure(response)}${doubt}` };
}

/**
 * Whether a contact shares that notifications are silenced. Apple does not share the mode. A contact unknown to the Mac, or
 * without a status, counts as not silenced. Throws if the Mac does not respond.
 */
async function focusOf({ client, rateLimiter }: Mac, address: string, abort: AbortSignal): Promise<FocusState> {
  await rateLimiter.acquire(abort);
  const response = await client.get(`/handle/${pathSegment(address)}/focus`, {}, { limitMs: READ_LIMIT_MS, abort });
  if (response.kind === "ok") return { focused: textOf(recordOf(response.data)?.status) === "silenced" };
  if (isNotFound(response)) return { focused: false };
  throw new PeerFault(describeFailure(response));
}

/** Fetches the file as it was sent. Without `original` the Mac converts it. */
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

/** Returns null if the Mac no longer has the file; throws if it may still have it. */
function gone(failure: Failure): null {
  if (isNotFound(failure) || says(failure, /does not exist|of null/i)) return null;
  throw new Error(describeFailure(failure));
}

function says(failure: Failure, words: RegExp): boolean {
  return failure.kind === "errorResponse" && isBlueBubblesError(failure) && words.test(failure.message);
}

function refusal(message: string): Failure {
  return { kind: "errorResponse", status: 200, type: "iMessage Error", message };
}

function limits(abort: AbortSignal) {
  return { limitMs: COMMAND_LIMIT_MS, abort };
}
