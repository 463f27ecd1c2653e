/** Hints that something happened to a message: its guid is all that is taken from them, the row is asked of the Mac. */

import { recordOf, textOf } from "../../core/loose-json.ts";
import type { Limits } from "./client.ts";
import type { Mac } from "./mac.ts";
import type { MacMessage } from "./records.ts";
import { RowLookups } from "./row-lookups.ts";

/** Events that tell of a row. What else they say is in the row as well. */
export const ROW_EVENTS: readonly string[] = [
  "new-message",
  "updated-message",
  "message-send-error",
  "group-name-change",
  "group-icon-changed",
  "group-icon-removed",
  "participant-added",
  "participant-removed",
  "participant-left",
];

/** Messages that wait to be asked for; beyond it further ones are left to catching up. */
const WAITING_MAX = 5_000;
/** A guid is 36 characters long, and some have a word before that. */
const GUID_LENGTH_MAX = 100;

/** Messages that are asked for because an event named them, until `stop`. One that the Mac keeps breaking at is left to catching up. */
export class RowNotifications {
  readonly #lookups: RowLookups;

  /** `found` is given each row that the Mac has. */
  constructor(mac: Mac, limits: Limits, onRow: (row: MacMessage) => Promise<boolean>) {
    this.#lookups = new RowLookups({ mac, limits, onRow, onDone: () => {} });
  }

  /** Takes an event's data: whichever message it names is asked for. Anything else is nothing. */
  receive(data: unknown): void {
    const guid = textOf(recordOf(data)?.guid) ?? "";
    if (guid === "" || guid.length > GUID_LENGTH_MAX || this.#lookups.waiting >= WAITING_MAX) return;
    this.#lookups.add([guid]);
  }

  stop(): Promise<void> {
    return this.#lookups.stop();
  }
}
