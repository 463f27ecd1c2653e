/** The peer's side of the provider suite: actions of contacts, and faults of the peer. */

import type { CallStatus, ReactionCommand } from "../../sdk/wire.ts";
import type { Outbound, ReceiptSignal } from "../../server/providers/provider.ts";

/** Why a peer lacks something: its test is skipped with these words. */
export interface Skip {
  skip: string;
}

export type Able<Thing> = Thing | Skip;

/** A file from a contact. */
export interface PeerFile {
  bytes: Uint8Array;
  mimeType: string;
  filename: string;
}

/** Ends a fault; further calls do nothing. */
export type End = () => void | Promise<void>;

/**
 * Actions of contacts towards `from` of the suite's messages (`outboundMessage`). Contacts are given by address:
 * `contact` and `others` are fictional numbers, and a peer that has to prepare them does so when it first sees one.
 * Each action resolves when the peer has done it, not when the provider has reported it.
 */
export interface Peer {
  /** The contact of the following actions. */
  contact: string;
  /** A contact writes on any channel of the provider. */
  writes: Able<(text: string | null, files: readonly PeerFile[]) => Promise<void>>;
  /** Another contact writes a text. */
  writesFrom: (address: string, text: string) => Promise<void>;
  /** The address of the last message that the peer took, as the peer got it; null if the peer is the provider itself. */
  lastRecipient: (() => string | undefined) | null;
  /** Whether a message can bring a text of more than 64 KiB. */
  longTexts: true | Skip;
  /** Whether a message can bring files. */
  files: true | Skip;
  /** Whether a signal that threw is reported again by itself. */
  insists: true | Skip;
  /** The peer repeats its last notification, as if it did not know that the provider got it. */
  repeats: Able<() => Promise<void>>;
  /** Whether messages from a time without a provider are reported by the next one. */
  keeps: true | Skip;
  /** Reacts to an accepted message with this `reference`. */
  reacts: Able<(reference: string, reaction: ReactionCommand) => Promise<void>>;
  /** Begins and ends typing. */
  types: Able<(typing: boolean) => Promise<void>>;
  /** Pays with a payload that the provider sees. */
  pays: Able<(amountCents: number) => Promise<void>>;
  /** Rings and hangs up. Returns the expected statuses, in order. */
  rings: Able<{ act: () => Promise<void>; statuses: readonly CallStatus[] }>;
  /** Edits (`text`) or unsends (null) the last message. */
  revises: Able<(text: string | null) => Promise<void>>;
  /** A group of the contact, `others` and us. */
  group: Able<PeerGroup>;
  /** Sends a receipt for an accepted message, at any time, number and order. */
  confirms: Able<(message: Outbound, reference: string, receipt: ReceiptSignal["receipt"]) => Promise<void>>;
  /** Whether an `unknown` receipt is reported again later. */
  tellsUnknownAgain: true | Skip;
  /** Makes the peer unreachable from now on. */
  goes: Able<() => End>;
  /** From now on the peer reads requests and answers none. */
  hangs: Able<() => End>;
  /** From now on the peer refuses each action. */
  refuses: Able<() => End>;
}

/** Actions in a group. The group is created with the first message to it. */
export interface PeerGroup {
  others: readonly string[];
  writes(text: string): Promise<void>;
  renames: Able<(title: string) => Promise<void>>;
  adds: Able<(address: string) => Promise<void>>;
}
