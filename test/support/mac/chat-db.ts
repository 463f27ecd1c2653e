/** The fake Mac's chat.db: handles, chats, messages and attachments, in memory, with the ids that macOS would give. */

import { createHash } from "node:crypto";

export type Service = "iMessage" | "SMS" | "RCS";

export interface HandleRow {
  rowId: number;
  address: string;
  service: Service;
}

export interface ChatRow {
  rowId: number;
  guid: string;
  /** 45 is a conversation of two, 43 a group. */
  style: 43 | 45;
  identifier: string;
  displayName: string;
  groupId: string;
  participants: HandleRow[];
  lastAddressedHandle: string;
}

export interface AttachmentRow {
  rowId: number;
  guid: string;
  mimeType: string | null;
  transferName: string;
  bytes: Uint8Array;
  /** Whether Messages has fetched it from iCloud. */
  isOnDisk: boolean;
  isOutgoing: boolean;
}

/** A row of the message table; instants are epoch milliseconds, null where the column is 0. */
export interface MessageRow {
  rowId: number;
  guid: string;
  chat: ChatRow;
  text: string | null;
  subject: string | null;
  handle: HandleRow | null;
  otherHandle: number;
  /** Files that Messages has linked to the message. */
  attachments: AttachmentRow[];
  /** Files that the message's body names, linked or not. */
  namedFiles: AttachmentRow[];
  service: Service;
  error: number;
  isFromMe: boolean;
  isSent: boolean;
  isDelivered: boolean;
  wasDowngraded: boolean;
  isAudioMessage: boolean;
  dateCreated: number;
  dateDelivered: number | null;
  dateRead: number | null;
  dateEdited: number | null;
  dateRetracted: number | null;
  itemType: 0 | 1 | 2 | 3;
  groupActionType: 0 | 1 | 2;
  groupTitle: string | null;
  balloonBundleId: string | null;
  payloadData: unknown[] | null;
  associatedMessageGuid: string | null;
  associatedMessageType: string | null;
  expressiveSendStyleId: string | null;
  threadOriginatorGuid: string | null;
  partCount: number | null;
  retractedParts: number[];
  /** BlueBubbles fails every query whose result has this row. */
  isBroken: boolean;
}

export type NewMessage = Pick<MessageRow, "chat" | "service" | "isFromMe" | "dateCreated"> & Partial<MessageRow>;

/** Rows are numbered from 1; guids are the same in every run of a test, and differ between Macs by `seed`. */
export class ChatDb {
  readonly handles: HandleRow[] = [];
  readonly chats: ChatRow[] = [];
  readonly messages: MessageRow[] = [];
  readonly attachments: AttachmentRow[] = [];
  readonly #seed: string;
  /** Whether conversations of two are named `any;-;…` for every service, as on macOS 26. */
  readonly #sharesGuids: boolean;
  readonly #ownAddress: () => string;
  #guids = 0;

  constructor(seed: string, sharesGuids: boolean, ownAddress: () => string) {
    this.#seed = seed;
    this.#sharesGuids = sharesGuids;
    this.#ownAddress = ownAddress;
  }

  guid(): string {
    this.#guids += 1;
    const hex = createHash("sha256").update(`${this.#seed} ${this.#guids}`).digest("hex").toUpperCase();
    return [
      hex.slice(0, 8),
      hex.slice(8, 12),
      `4${hex.slice(13, 16)}`,
      `8${hex.slice(17, 20)}`,
      hex.slice(20, 32),
    ].join("-");
  }

  handle(address: string, service: Service): HandleRow {
    const known = this.handles.find((handle) => handle.address === address && handle.service === service);
    if (known !== undefined) return known;
    const handle = { rowId: this.handles.length + 1, address, service };
    this.handles.push(handle);
    return handle;
  }

  chat(guid: string): ChatRow | undefined {
    return this.chats.find((chat) => chat.guid === guid);
  }

  message(guid: string): MessageRow | undefined {
    return this.messages.find((message) => message.guid === guid);
  }

  /** Finds or creates the conversation with one address. */
  direct(address: string, service: Service): ChatRow {
    const guid = `${this.#sharesGuids ? "any" : service};-;${address}`;
    return this.chat(guid) ?? this.#addChat(guid, 45, address, "", [this.handle(address, service)]);
  }

  /** Finds the group with exactly these members. */
  groupOf(addresses: readonly string[]): ChatRow | undefined {
    const wanted = [...addresses].sort().join(" ");
    const peopleOf = ({ participants }: ChatRow) => participants.map(({ address }) => address).toSorted();
    return this.chats.find((chat) => chat.style === 43 && peopleOf(chat).join(" ") === wanted);
  }

  /** Creates a group without a message. */
  group(addresses: readonly string[], name: string, service: Service = "iMessage"): ChatRow {
    const identifier = `chat${String(100_000_000_000 + this.chats.length + 1)}`;
    const members = addresses.map((address) => this.handle(address, service));
    return this.#addChat(`${service};+;${identifier}`, 43, identifier, name, members);
  }

  add(message: NewMessage): MessageRow {
    const row: MessageRow = {
      rowId: this.messages.length + 1,
      guid: this.guid(),
      text: null,
      subject: null,
      handle: null,
      otherHandle: 0,
      attachments: [],
      namedFiles: message.attachments ?? [],
      error: 0,
      isSent: true,
      isDelivered: false,
      wasDowngraded: false,
      isAudioMessage: false,
      dateDelivered: null,
      dateRead: null,
      dateEdited: null,
      dateRetracted: null,
      itemType: 0,
      groupActionType: 0,
      groupTitle: null,
      balloonBundleId: null,
      payloadData: null,
      associatedMessageGuid: null,
      associatedMessageType: null,
      expressiveSendStyleId: null,
      threadOriginatorGuid: null,
      partCount: null,
      retractedParts: [],
      isBroken: false,
      ...message,
    };
    this.messages.push(row);
    return row;
  }

  attach(file: Pick<AttachmentRow, "mimeType" | "transferName" | "bytes"> & Partial<AttachmentRow>): AttachmentRow {
    const row = { rowId: this.attachments.length + 1, guid: this.guid(), isOnDisk: true, isOutgoing: false, ...file };
    this.attachments.push(row);
    return row;
  }

  #addChat(guid: string, style: 43 | 45, identifier: string, displayName: string, participants: HandleRow[]): ChatRow {
    const rowId = this.chats.length + 1;
    const lastAddressedHandle = this.#ownAddress();
    const chat = {
      rowId,
      guid,
      style,
      identifier,
      displayName,
      groupId: this.guid(),
      participants,
      lastAddressedHandle,
    };
    this.chats.push(chat);
    return chat;
  }
}
