/** Facts about a provider that the engine plans with. */

import type { Channel } from "../../sdk/wire.ts";
import type { CarriedFiles } from "./message-files.ts";

export interface Capabilities {
  channels: readonly Channel[];
  /** The files that its SMS carry. iMessage carries all. */
  smsFiles: CarriedFiles;
  /**
   * Sends at once. Some messages with files run beside them, and a send that takes longer than 40 s lets another begin.
   */
  concurrency: number;
  /**
   * The longest that `send` may take, in real milliseconds. Then the engine aborts it, and its outcome is unknown. Must
   * cover everything that the peer may still do with the message, so that the engine does not abort a send that would
   * succeed. At least 40 s.
   */
  sendTimeoutMs: number;
  /** How long the engine waits before it calls `reconcile` for an unknown outcome, in milliseconds. At most 15 s. */
  reconcileAfterMs: number;
  /** Whether the provider sees payment payloads. If so, the engine ignores texts that only look like a payment. */
  seesPayments: boolean;
  /** Whether the phone merges two groups of the same people, so that the engine must not create a second one. */
  mergesGroups?: boolean;
  /**
   * Whether the send attempts of a run of messages to one recipient begin together. Only for a provider that decides about a
   * message within `send` and recognises one that it has accepted: after a crash each of the run is asked about.
   */
  takesRuns?: boolean;
  /** Whether the peer itself answers `STOP` and `HELP`, so that the service must not. */
  answersKeywords?: boolean;
  /** Whether a reaction may be any emoji. Without it, `react` gets one of the six, or its removal. */
  emojiReactions?: boolean;
}
