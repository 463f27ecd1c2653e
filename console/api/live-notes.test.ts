import assert from "node:assert/strict";
import test from "node:test";
import type { WireItem } from "../../sdk/requests.ts";
import type { Delivery, Event } from "../../sdk/wire.ts";
import { NEW_TAB, type Note, openAt, receive, type TabState } from "./live-notes.ts";

const event = (id: string): WireItem => ({ kind: "event", event: { id } as Event });
const DELIVERY: WireItem = { kind: "delivery", delivery: { id: "dlv_1" } as Delivery };

/** Receives notes one after the other. */
function receiveAll(start: TabState, notes: readonly Note[]) {
  let tab = start;
  const items: WireItem[] = [];
  let gaps = 0;
  for (const note of notes) {
    const received = receive(tab, note);
    tab = received.tab;
    if (received.item !== null) items.push(received.item);
    if (received.isGap) gaps += 1;
  }
  return { tab, items, gaps };
}

const item = (given: WireItem): Note => ({ is: "item", item: given });

test("a tab continues after the event that it received last, or after the newest one of the time when it was opened", () => {
  const opened = openAt(NEW_TAB, "evt_1");
  assert.equal(opened.position, "evt_1");
  const { tab } = receiveAll(opened, [item(event("evt_2")), item(DELIVERY)]);
  assert.equal(tab.position, "evt_2");
  assert.equal(openAt(tab, "evt_1").position, "evt_2");
});

test("an event that a former and a new leader both tell counts once, and does not set the tab back", () => {
  const { items, tab } = receiveAll(NEW_TAB, [
    item(event("evt_1")),
    item(event("evt_2")),
    item(event("evt_1")),
    item(DELIVERY),
    item(DELIVERY),
  ]);
  assert.deepEqual(
    items.map(({ kind }) => kind),
    ["event", "event", "delivery", "delivery"],
  );
  assert.equal(tab.position, "evt_2");
});

test("a cut makes everything stale that was read before, and the first connection does not", () => {
  const state = (given: TabState["state"]): Note => ({ is: "state", state: given });
  assert.equal(receiveAll(NEW_TAB, [state("live"), state("live")]).gaps, 0);
  assert.equal(receiveAll(NEW_TAB, [state("live"), state("reconnecting"), state("live")]).gaps, 1);
  assert.equal(receiveAll(NEW_TAB, [{ is: "gap" }]).gaps, 1);
});

test("the events that a tab remembers are bounded", () => {
  const notes = Array.from({ length: 2_000 }, (_, index) => item(event(`evt_${index}`)));
  const { tab } = receiveAll(NEW_TAB, notes);
  assert.equal(tab.eventIds.length, 500);
  assert.equal(tab.eventIds.at(-1), "evt_1999");
});
