/** A contact's iPhone, as the fake Mac sees it: it receives, writes, reads, pays and calls. */

import type { Clock } from "../../../server/clock.ts";
import type { AttachmentRow, ChatDb, ChatRow, MessageRow, NewMessage, Service } from "./chat-db.ts";
import type { Events } from "./events.ts";
import type { Fault, Faults } from "./faults.ts";
import { type Balloon, PAYMENT_BUNDLE, paymentPayload } from "./payment.ts";
import { EVERYTHING, handleRecord, messageRecord } from "./records.ts";

/** A message that left the Mac, to one address or to every member of a group. */
export interface Sent {
  guid: string;
  to: readonly string[];
  chatGuid: string;
  service: Service;
  text: string | null;
  subject: string | null;
  attachments: readonly AttachmentRow[];
  effectId: string | null;
  replyTo: string | null;
  mentions: readonly string[];
  isAudioMessage: boolean;
  /** For a tapback: its type and its message. */
  reaction: { type: string; target: string } | null;
  tempGuid: string | null;
  at: number;
}

/** Automatic behaviour of a phone. */
export type Habit = "nothing" | "delivers" | "reads";

/** Connection of a phone to the Mac. */
export interface World {
  db: ChatDb;
  events: Events;
  faults: Faults;
  clock: Clock;
  ownAddress: () => string;
  /** Whether BlueBubbles pushes every change of a call, or only incoming calls. */
  facetimeCalling: boolean;
  habit: Habit;
  /** After this time Messages links the files of a row that was pushed; 0 means before it is pushed. */
  linksFilesAfterMs: number;
}

/**
 * A file that a contact sends. `isOnDisk` false: Messages has not fetched it yet. `linksAfterMs`: Messages links it so long after
 * the row was pushed, without an event, and never if it is infinite; by default as the Mac does it.
 */
export interface File {
  name: string;
  mimeType: string | null;
  bytes: Uint8Array;
  isOnDisk?: boolean;
  linksAfterMs?: number;
}

/** Attaches the files of a message that is written. `link` links those to its row that Messages links late. */
export function attach({ db, clock, linksFilesAfterMs }: World, given: readonly File[]) {
  const files = given.map(({ name, mimeType, bytes, isOnDisk = true, ...link }) => ({
    file: db.attach({ transferName: name, mimeType, bytes, isOnDisk }),
    afterMs: link.linksAfterMs ?? linksFilesAfterMs,
  }));
  return {
    attachments: files.filter(({ afterMs }) => afterMs === 0).map(({ file }) => file),
    namedFiles: files.map(({ file }) => file),
    link(row: MessageRow): void {
      for (const { file, afterMs } of files) {
        if (afterMs > 0 && Number.isFinite(afterMs)) clock.after(afterMs, () => row.attachments.push(file));
      }
    },
  };
}

export interface Writing {
  group?: ChatRow;
  attachments?: readonly File[];
  replyTo?: string;
  effectId?: string;
  subject?: string;
  service?: Service;
  /** The row names no handle. */
  hasNoHandle?: boolean;
  /** Time of writing in epoch milliseconds; iCloud delivers old messages late. */
  at?: number;
  /** No event is pushed: the message arrived while the file watcher was off. */
  isSilent?: boolean;
}

const TAPBACKS: Readonly<Record<string, string>> = {
  love: "Loved",
  like: "Liked",
  dislike: "Disliked",
  laugh: "Laughed at",
  emphasize: "Emphasized",
  question: "Questioned",
};

/** Repeats of the same typing state are suppressed for this time. */
const TYPING_REPEAT_MS = 5_000;

export class Phone {
  readonly address: string;
  isOnIMessage = true;
  takesSms = true;
  hasFaceTime = true;
  /** Focus that the owner shares. */
  focus: "silenced" | "none" | "unknown" = "none";
  /** For an unreachable phone: whether the row has its error at once, or a second after the response. */
  refusesAtOnce = false;
  /** For an unreachable phone: the row's error. Messages uses 22 for a recipient without iMessage. */
  error = 22;
  habit: Habit;
  /** Delay of its habits by the Mac's clock; 0 means before the response to the send. */
  habitMs = 10;
  /** Habit of the owner for each further message. */
  afterwards: (sent: Sent) => void = () => {};
  /** Delay before the Mac sends a message to this phone, by the Mac's clock. */
  takesAfterMs = 0;
  /** Faults that hit only sends to this phone. */
  readonly faults = new Set<Fault>();
  /** Messages received, in order. */
  readonly received: Sent[] = [];
  readonly #world: World;
  #typing: { is: boolean; at: number } | null = null;
  #calls = 0;
  #payments = 0;

  constructor(address: string, world: World) {
    this.address = address;
    this.#world = world;
    this.habit = world.habit;
  }

  /** Receives a message from the Mac. */
  takes(sent: Sent): void {
    this.received.push(sent);
    if (sent.reaction !== null) return;
    const act = () => {
      if (this.habit !== "nothing" && sent.service === "iMessage") this.delivers(sent.guid);
      if (this.habit === "reads" && sent.service === "iMessage") this.reads(sent.guid);
      this.afterwards(sent);
    };
    if (this.habitMs === 0) act();
    else this.#world.clock.after(this.habitMs, act);
  }

  /** Sends a delivery receipt; by default for the last message. */
  delivers(guid = this.#lastGot().guid): void {
    const row = this.#row(guid);
    row.isDelivered = true;
    row.dateDelivered = this.#world.clock.now();
    this.#world.events.message(row);
  }

  /** Sends a read receipt without a delivery receipt. */
  reads(guid = this.#lastGot().guid): void {
    const row = this.#row(guid);
    row.dateRead = this.#world.clock.now();
    this.#world.events.message(row);
  }

  /** Writes a message and returns its guid. The first message creates the conversation. */
  writes(text: string | null, writing: Writing = {}): string {
    const { link, ...files } = attach(this.#world, writing.attachments ?? []);
    const row = this.#comes(
      {
        text,
        ...files,
        subject: writing.subject ?? null,
        threadOriginatorGuid: writing.replyTo ?? null,
        expressiveSendStyleId: writing.effectId ?? null,
      },
      writing,
    );
    link(row);
    return row.guid;
  }

  /** Sends a tapback on a message, or removes it if its name begins with `-`. An emoji stands only in the row's text. */
  reacts(target: string, type: string, writing: Writing = {}): string {
    const text = this.#world.db.message(target)?.text ?? "";
    const bare = type.replace("-", "");
    const isEmoji = TAPBACKS[bare] === undefined;
    const done = isEmoji ? `Reacted ${bare} to` : TAPBACKS[bare];
    const word = type === bare ? done : `Removed ${isEmoji ? bare : `a ${bare}`} from`;
    const kind = isEmoji ? { [bare]: "2006", [`-${bare}`]: "3006" }[type] : type;
    const about = { associatedMessageGuid: `p:0/${target}`, associatedMessageType: kind ?? null };
    return this.#comes({ text: `${word} “${text}”`, ...about }, writing).guid;
  }

  edits(guid: string, text: string): void {
    const row = this.#row(guid);
    row.text = text;
    row.dateEdited = this.#world.clock.now();
    this.#world.events.message(row);
  }

  /** Unsends its own message. */
  unsends(guid: string): void {
    const row = this.#row(guid);
    Object.assign(row, { text: null, dateEdited: this.#world.clock.now(), partCount: 0, retractedParts: [0] });
    this.#world.events.message(row);
  }

  /** Starts or stops typing in the conversation of two. */
  types(is: boolean): void {
    const { clock, events, db } = this.#world;
    const last = this.#typing;
    if (last?.is === is && clock.now() - last.at < TYPING_REPEAT_MS) return;
    this.#typing = { is, at: clock.now() };
    events.emit("typing-indicator", { display: is, guid: db.direct(this.address, "iMessage").guid });
  }

  /** Sends or requests Apple Cash; returns the guid. */
  pays(amountCents: number, more: Partial<Pick<Balloon, "kind" | "blob" | "currency" | "transaction">> = {}): string {
    this.#payments += 1;
    const payloadData = paymentPayload({
      amountCents,
      kind: "payment",
      from: this.address,
      to: this.#world.ownAddress(),
      transaction: `${this.address}-${this.#payments}`,
      ...more,
    });
    return this.#comes({ text: null, balloonBundleId: PAYMENT_BUNDLE, payloadData }, {}).guid;
  }

  /** Starts a FaceTime call; returns its uuid, which only one of the two kinds of events has. */
  rings({ isVideo = true }: { isVideo?: boolean } = {}): string {
    this.#calls += 1;
    const uuid = `CALL-${this.address}-${this.#calls}`;
    if (this.#world.facetimeCalling) {
      this.#callChanged(uuid, "incoming", 4, isVideo, null);
    } else {
      const data = JSON.stringify({ caller: this.address, timestamp: this.#world.clock.now() });
      // macOS shows two notifications for a ringing call, and both are pushed.
      this.#world.events.emit("incoming-facetime", data);
      this.#world.events.emit("incoming-facetime", data);
    }
    return uuid;
  }

  /** Ends a call. Without `facetimeCalling` no event is pushed. */
  hangsUp(uuid: string, { isVideo = true }: { isVideo?: boolean } = {}): void {
    if (this.#world.facetimeCalling) this.#callChanged(uuid, "disconnected", 6, isVideo, "remoteHangup");
  }

  /** Creates a group with our address and `others`. */
  makesGroup(name: string, others: readonly string[]): ChatRow {
    return this.#world.db.group([this.address, ...others], name);
  }

  renames(group: ChatRow, title: string): void {
    group.displayName = title;
    this.#groupEvent("group-name-change", group, { itemType: 2, groupTitle: title });
  }

  adds(group: ChatRow, address: string): void {
    const handle = this.#world.db.handle(address, "iMessage");
    group.participants.push(handle);
    this.#groupEvent("participant-added", group, { itemType: 1, otherHandle: handle.rowId });
  }

  removes(group: ChatRow, address: string): void {
    const handle = this.#world.db.handle(address, "iMessage");
    group.participants = group.participants.filter(({ rowId }) => rowId !== handle.rowId);
    this.#groupEvent("participant-removed", group, { itemType: 1, groupActionType: 1, otherHandle: handle.rowId });
  }

  leaves(group: ChatRow): void {
    group.participants = group.participants.filter(({ address }) => address !== this.address);
    this.#groupEvent("participant-left", group, { itemType: 3 });
  }

  changesPhoto(group: ChatRow): void {
    this.#groupEvent("group-icon-changed", group, { itemType: 3, groupActionType: 1 });
  }

  #comes(message: Partial<MessageRow>, writing: Writing): MessageRow {
    const { db, events, clock } = this.#world;
    const service = writing.service ?? "iMessage";
    const chat = writing.group ?? db.direct(this.address, service);
    const handle = writing.hasNoHandle === true ? null : db.handle(this.address, service);
    const row = db.add({
      ...message,
      chat,
      service,
      handle,
      isFromMe: false,
      dateCreated: writing.at ?? clock.now(),
    } satisfies NewMessage);
    if (writing.isSilent === true) events.seed([row]);
    else events.message(row);
    return row;
  }

  #groupEvent(type: string, chat: ChatRow, more: Partial<MessageRow>): void {
    const { db, events, clock } = this.#world;
    const handle = db.handle(this.address, "iMessage");
    const row = db.add({
      chat,
      service: "iMessage",
      isFromMe: false,
      dateCreated: clock.now(),
      handle,
      text: null,
      ...more,
    });
    events.emit(type, messageRecord(row, { ...EVERYTHING, participants: true }));
    events.message(row);
  }

  #callChanged(uuid: string, status: string, id: number, isVideo: boolean, endedReason: string | null): void {
    this.#world.events.emit("ft-call-status-changed", {
      uuid,
      status,
      status_id: id,
      ended_error: endedReason === null ? null : "",
      ended_reason: endedReason,
      address: this.address,
      handle: handleRecord(this.#world.db.handle(this.address, "iMessage")),
      image_url: null,
      is_outgoing: false,
      is_audio: endedReason === null,
      is_video: isVideo,
    });
  }

  #row(guid: string): MessageRow {
    const row = this.#world.db.message(guid);
    if (row === undefined) throw new Error(`there is no message ${guid} on the Mac`);
    return row;
  }

  #lastGot(): Sent {
    const last = this.received.at(-1);
    if (last === undefined) throw new Error(`${this.address} got nothing yet`);
    return last;
  }
}
