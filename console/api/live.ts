/**
 * The live stream of the console, one a browser: the leading tab reads it and tells it to all tabs (`live-tabs.ts`), each tab receives it note by
 * note (`live-notes.ts`), and shows what it received a few times a second.
 */

import type { WireItem } from "../../sdk/requests.ts";
import type { Delivery } from "../../sdk/wire.ts";
import type { WireRow } from "../../sdk/wire-rows.ts";
import { type LiveState, NEW_TAB, type Note, openAt, receive, type TabState } from "./live-notes.ts";
import { type LiveSource, pause } from "./live-source.ts";
import { joinTabs } from "./live-tabs.ts";
import { WireRows } from "./wire-rows.ts";

/** The live stream, as this tab receives it. */
export interface Live {
  state(): LiveState;
  /** The rows of the Wire, in order of time. A new list whenever one is added. */
  rows(): readonly WireRow[];
  /** A delivery as the stream told it last; null if it did not. */
  delivery(id: string): Delivery | null;
  /** Adds what happened before this page was opened, as far as the newest pages of the lists go; once. */
  recall(): void;
  /** Calls back with the items of each tenth of a second, in order, each event once. Returns the end of it. */
  onItems(listener: (items: readonly WireItem[]) => void): () => void;
  /** Calls back whenever `state` or `rows` has changed. */
  onChange(listener: () => void): () => void;
  /** Calls back when something may have been missed: what was read before may be stale. */
  onGap(listener: () => void): () => void;
  stop(): void;
}

/** Items of this time are shown together, so that a burst renders a few times a second. */
const BATCH_MS = 100;
/** A stream that was refused is asked for again after this time. */
const REFUSED_MS = 10_000;

/** Starts the live stream; tabs of one `name` share it. */
export function startLive(name: string, source: LiveSource): Live {
  const stop = new AbortController();
  const items = listeners<[items: readonly WireItem[]]>();
  const changes = listeners<[]>();
  const gaps = listeners<[]>();
  const rows = new WireRows();
  let tab: TabState = NEW_TAB;
  let batch: WireItem[] = [];

  // The leader continues after the last event that it received, or after the newest one of the time when it was opened.
  const noteOpening = (id: string) => {
    tab = openAt(tab, id);
  };
  const opened = source.newestEvent().then(noteOpening, () => {});
  const welcome = (): Note => ({ is: "state", state: tab.state });
  const tell = joinTabs<Note>({ name, signal: stop.signal, onNote, welcome, lead });

  function onNote(note: Note): void {
    if (stop.signal.aborted) return;
    const before = tab.state;
    const received = receive(tab, note);
    tab = received.tab;
    if (received.item !== null && batch.push(received.item) === 1) setTimeout(showBatch, BATCH_MS);
    if (tab.state !== before) changes.call();
    if (received.isGap) gaps.call();
  }

  function showBatch(): void {
    const shown = batch;
    batch = [];
    if (stop.signal.aborted) return;
    rows.add(shown);
    items.call(shown);
    changes.call();
  }

  async function lead(signal: AbortSignal): Promise<void> {
    await opened;
    while (!signal.aborted) {
      try {
        // The former leader, or the former stream, ended: requests and deliveries of the time between are in their lists only.
        if (tab.state !== "connecting") void tellLists();
        const lastEventId = tab.position ?? (await source.newestEvent());
        const query = { lastEventId, signal, onGap: () => tell({ is: "gap" }), onReconnect: tellLists };
        for await (const item of source.stream(query, (state) => tell({ is: "state", state }))) {
          tell({ is: "item", item });
        }
      } catch {
        if (signal.aborted) return;
        tell({ is: "state", state: "reconnecting" });
      }
      await pause(REFUSED_MS, signal).catch(() => {});
    }
  }

  async function tellLists(): Promise<void> {
    const missed = await source.readLists().catch(() => []);
    for (const item of missed) tell({ is: "item", item });
  }

  return {
    state: () => tab.state,
    rows: () => rows.rows(),
    delivery: (id) => rows.delivery(id),
    recall: () => void rows.recall(source).then((isChanged) => isChanged && changes.call()),
    onItems: items.add,
    onChange: changes.add,
    onGap: gaps.add,
    stop: () => stop.abort(),
  };
}

/** Callbacks that are called together. */
function listeners<Given extends unknown[]>() {
  const all = new Set<(...given: Given) => void>();
  return {
    add: (listener: (...given: Given) => void) => {
      all.add(listener);
      return () => {
        all.delete(listener);
      };
    },
    call: (...given: Given) => {
      for (const listener of all) listener(...given);
    },
  };
}
