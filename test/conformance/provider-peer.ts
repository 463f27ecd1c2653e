/** The other side of a provider under the conformance suite: what people there do, and how the peer can be broken. */

import type { CallStatus, ReactionCommand } from "../../sdk/wire.ts";
import type { Outbound, ReceiptSignal } from "../../server/providers/provider.ts";

/** Why a provider's peer has no such thing: the test of it is skipped with these words. */
export interface Skip {
  skip: string;
}

export type Able<Thing> = Thing | Skip;

/** A file as somebody sends it. */
export interface PeerFile {
  bytes: Uint8Array;
  mimeType: string;
  filename: string;
}

/** Ends what was begun; ended twice it does nothing more. */
export type End = () => void | Promise<void>;

/**
 * What the other side does, towards `from` of the suite's messages (`outboundMessage`). Contacts are given by address:
 * `contact` and `others` of the suite are numbers in the block for fiction; a peer that needs them prepared does so when
 * it first hears of one. Each resolves when the peer has done it, not when the provider has told of it.
 */
export interface Peer {
  /** The contact who does what follows. */
  contact: string;
  /** A contact writes over any channel of the provider's. */
  writes: Able<(text: string | null, files: readonly PeerFile[]) => Promise<void>>;
  /** Whether a message can bring files. */
  files: true | Skip;
  /** Whether what could not be taken in (the signal threw) is told again without anybody's doing. */
  insists: true | Skip;
  /** The peer tells again what it told last, as one does that does not know that it was heard. */
  repeats: Able<() => Promise<void>>;
  /** Whether what is written while no provider runs is told to the next one. */
  keeps: true | Skip;
  /** Reacts to a message that was accepted under `reference`. */
  reacts: Able<(reference: string, reaction: ReactionCommand) => Promise<void>>;
  /** Begins and ends typing. */
  types: Able<(typing: boolean) => Promise<void>>;
  /** Pays by a payload that the provider sees. */
  pays: Able<(amountCents: number) => Promise<void>>;
  /** Rings and hangs up: the statuses that are to be told of it, in order. */
  rings: Able<{ act: () => Promise<void>; statuses: readonly CallStatus[] }>;
  /** Changes (`text`), or takes back (null), what was written last. */
  revises: Able<(text: string | null) => Promise<void>>;
  /** A group of the contact, `others` and us. */
  group: Able<PeerGroup>;
  /** Gives a receipt of a message that was accepted; as late, as often and in such order as it is called. */
  confirms: Able<(message: Outbound, reference: string, receipt: ReceiptSignal["receipt"]) => Promise<void>>;
  /** Whether a receipt that was `unknown` is told again later. */
  tellsUnknownAgain: true | Skip;
  /** From now on the peer cannot be reached. */
  goes: Able<() => End>;
  /** From now on it reads what it is asked, and answers nothing. */
  hangs: Able<() => End>;
  /** From now on it refuses each command. */
  refuses: Able<() => End>;
}

/** What people do in a group. It comes to be with the first message that is written to it. */
export interface PeerGroup {
  others: readonly string[];
  writes(text: string): Promise<void>;
  /** Gives it a name. */
  renames: Able<(title: string) => Promise<void>>;
  /** Brings somebody in. */
  adds: Able<(address: string) => Promise<void>>;
}
