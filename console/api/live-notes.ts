/** The live stream as one tab knows it: the notes that the leading tab tells, and the state that each of them leads to. Pure. */

import type { WireItem } from "../../sdk/requests.ts";

/** `live`: events arrive as they happen. `reconnecting`: the stream was cut and continues where it ended. */
export type LiveState = "connecting" | "live" | "reconnecting";

/** A note. Every tab receives it, the one that tells it too. `gap`: events were missed that the service no longer keeps. */
export type Note = { is: "item"; item: WireItem } | { is: "state"; state: LiveState } | { is: "gap" };

/** The state of a tab. */
export interface TabState {
  state: LiveState;
  /** Id of the event after which this tab would continue the stream; null until it is known. */
  position: string | null;
  /** Ids of the events that it received last, oldest first. */
  eventIds: readonly string[];
}

/** The state that a note leads to. `item` is new to the tab; with `isGap`, anything that was read before may be stale. */
export interface Received {
  tab: TabState;
  item: WireItem | null;
  isGap: boolean;
}

/** A new leader may repeat at most so many events that the former leader told last. */
const REPEATED_MAX = 500;

/** The state of a tab that has just been opened. */
export const NEW_TAB: TabState = { state: "connecting", position: null, eventIds: [] };

/** Receives a note. */
export function receive(tab: TabState, note: Note): Received {
  switch (note.is) {
    case "gap":
      return { tab, item: null, isGap: true };
    case "state": {
      // Deliveries change without an event: after a cut they may be others.
      const isGap = tab.state === "reconnecting" && note.state === "live";
      return { tab: { ...tab, state: note.state }, item: null, isGap };
    }
    case "item": {
      const { item } = note;
      if (item.kind !== "event") return { tab, item, isGap: false };
      const { id } = item.event;
      if (tab.eventIds.includes(id)) return { tab, item: null, isGap: false };
      const eventIds = [...tab.eventIds, id].slice(-REPEATED_MAX);
      return { tab: { ...tab, position: id, eventIds }, item, isGap: false };
    }
  }
}

/** Notes the newest event of the time when the tab was opened. An event that it has received since is newer. */
export function openAt(tab: TabState, id: string): TabState {
  return tab.position === null ? { ...tab, position: id } : tab;
}
