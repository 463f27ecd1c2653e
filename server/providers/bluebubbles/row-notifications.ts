/** Notifications that a message changed. Only the guid is used: the row itself is looked up on the Mac. */

import { recordOf, textOf } from "../../core/loose-json.ts";
import type { Limits } from "./client.ts";
import type { Mac } from "./mac.ts";
import type { MacMessage } from "./records.ts";
import { RowLookups } from "./row-lookups.ts";

/** Events that name a message. Everything else in them is also in the row. */
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

/** Limit of pending lookups; further ones are left to backfill. */
const WAITING_MAX = 5_000;
/** Maximum length of a guid: 36 characters, sometimes with a prefix. */
const GUID_LENGTH_MAX = 100;

/** Lookups of messages that an event named, until `stop`. Messages at which BlueBubbles keeps failing are left to backfill. */
export class RowNotifications {
  readonly #lookups: RowLookups;

  /** `onRow` receives each row found. */
  constructor(mac: Mac, limits: Limits, onRow: (row: MacMessage) => Promise<boolean>) {
    this.#lookups = new RowLookups({ mac, limits, onRow, onDone: () => {} });
  }

  /** Receives an event's data and looks up the message it names. Ignores anything else. */
  receive(data: unknown): void {
    const guid = textOf(recordOf(data)?.guid) ?? "";
    if (guid === "" || guid.length > GUID_LENGTH_MAX || this.#lookups.waiting >= WAITING_MAX) return;
    this.#lookups.add([guid]);
  }

  stop(): Promise<void> {
    return this.#lookups.stop();
  }
}
