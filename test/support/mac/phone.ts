/** A contact's iPhone, as seen by the fake Mac: its owner receives, writes, reads, pays and calls. */

import type { Clock } from "../../../server/clock.ts";
import type { AttachmentRow, ChatDb, ChatRow, MessageRow, NewMessage, Service } from "./chat-db.ts";
import type { Events } from "./events.ts";
import type { Fault, Faults } from "./faults.ts";
import { type Balloon, PAYMENT_BUNDLE, paymentPayload } from "./payment.ts";
import { EVERYTHING, handleRecord, messageRecord } from "./records.ts";

/** Something that left the Mac: to one address, or to everybody in a group. */
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
  /** For a tapback: what, and on which message. */
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
  /** Whether BlueBubbles tells of every change of a call, or only that one comes in. */
  facetimeCalling: boolean;
  habit: Habit;
}

/** A file that somebody sends; `isOnDisk` false: Messages has not fetched it yet. */
export interface File {
  name: string;
  mimeType: string | null;
  bytes: Uint8Array;
  isOnDisk?: boolean;
}

export interface Writing {
  group?: ChatRow;
  attachments?: readonly File[];
  replyTo?: string;
  effectId?: string;
  subject?: string;
  service?: Service;
  /** When it was written, in epoch milliseconds: iCloud brings old messages late. */
  at?: number;
  /** Nothing tells of it: it came while nobody watched. */
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

/** Repeats of the same typing state are left out for so long. */
const TYPING_REPEAT_MS = 5_000;

export class Phone {
  readonly address: string;
  isOnIMessage = true;
  takesSms = true;
  hasFaceTime = true;
  /** Focus that the owner shares. */
  focus: "silenced" | "none" | "unknown" = "none";
  /** Where it cannot be reached: whether the row has its error at first sight, or a second after the answer. */
  refusesAtOnce = false;
  /** The row's error where it cannot be reached: 22 is what Messages says of somebody without iMessage. */
  error = 22;
  habit: Habit;
  /** How long its habits take, by the Mac's clock; 0 is before the answer of the send. */
  habitMs = 10;
  /** Habit of the owner for each further message. */
  afterwards: (sent: Sent) => void = () => {};
  /** How long the Mac thinks, by its clock, before it sends something here. */
  takesAfterMs = 0;
  /** Faults that hit every send to it, and no other. */
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

  /** Something that the Mac sent comes in. */
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

  /** Says that it has a message: the last one, unless told which. */
  delivers(guid = this.#lastGot().guid): void {
    const row = this.#row(guid);
    row.isDelivered = true;
    row.dateDelivered = this.#world.clock.now();
    this.#world.events.message(row);
  }

  /** Says that it read a message, and nothing of its delivery. */
  reads(guid = this.#lastGot().guid): void {
    const row = this.#row(guid);
    row.dateRead = this.#world.clock.now();
    this.#world.events.message(row);
  }

  /** Writes, and returns the guid. The first message creates the conversation. */
  writes(text: string | null, writing: Writing = {}): string {
    const attachments = (writing.attachments ?? []).map(({ name, mimeType, bytes, isOnDisk = true }) =>
      this.#world.db.attach({ transferName: name, mimeType, bytes, isOnDisk }),
    );
    return this.#comes(
      {
        text,
        attachments,
        subject: writing.subject ?? null,
        threadOriginatorGuid: writing.replyTo ?? null,
        expressiveSendStyleId: writing.effectId ?? null,
      },
      writing,
    ).guid;
  }

  /** A tapback on a message, or with `-` before its name the end of one. */
  reacts(target: string, type: string, writing: Writing = {}): string {
    const text = this.#world.db.message(target)?.text ?? "";
    const word = TAPBACKS[type] ?? `Removed a ${type.slice(1)} from`;
    const about = { associatedMessageGuid: `p:0/${target}`, associatedMessageType: type };
    return this.#comes({ text: `${word} “${text}”`, ...about }, writing).guid;
  }

  edits(guid: string, text: string): void {
    const row = this.#row(guid);
    row.text = text;
    row.dateEdited = this.#world.clock.now();
    this.#world.events.message(row);
  }

  /** Unsends a message of its own. */
  unsends(guid: string): void {
    const row = this.#row(guid);
    Object.assign(row, { text: null, dateEdited: this.#world.clock.now(), partCount: 0, retractedParts: [0] });
    this.#world.events.message(row);
  }

  /** Begins or ends typing, in the conversation of two. */
  types(is: boolean): void {
    const { clock, events, db } = this.#world;
    const last = this.#typing;
    if (last?.is === is && clock.now() - last.at < TYPING_REPEAT_MS) return;
    this.#typing = { is, at: clock.now() };
    events.emit("typing-indicator", { display: is, guid: db.direct(this.address, "iMessage").guid });
  }

  /** Sends Apple Cash, or asks for it; answers the guid. */
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

  /** Rings by FaceTime; answers the uuid of the call, which only one of the two forms tells. */
  rings({ isVideo = true }: { isVideo?: boolean } = {}): string {
    this.#calls += 1;
    const uuid = `CALL-${this.address}-${this.#calls}`;
    if (this.#world.facetimeCalling) {
      this.#callChanged(uuid, "incoming", 4, isVideo, null);
    } else {
      const data = JSON.stringify({ caller: this.address, timestamp: this.#world.clock.now() });
      // Every notification of the ringing call is told: there are two.
      this.#world.events.emit("incoming-facetime", data);
      this.#world.events.emit("incoming-facetime", data);
    }
    return uuid;
  }

  /** Ends a call; without `facetimeCalling` nothing tells of it. */
  hangsUp(uuid: string, { isVideo = true }: { isVideo?: boolean } = {}): void {
    if (this.#world.facetimeCalling) this.#callChanged(uuid, "disconnected", 6, isVideo, "remoteHangup");
  }

  /** Makes a group with our address and `others` in it. */
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
    const handle = db.handle(this.address, service);
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
