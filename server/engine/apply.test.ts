/** Signals of providers: one handler for each kind, and no text that a store cannot keep. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { engineStage } from "../../test/support/engine.ts";
import { inbound, receipt } from "../../test/support/provider.ts";
import type { Signal } from "../providers/provider.ts";

const HEARD = { to: "+15559999999", channel: "imessage" } as const;
const GROUP = { reference: "g\0", name: "\ud800", participants: ["\0"] };

/** A signal of each kind with odd texts, for an unknown number and message. */
const FORGED: Signal[] = [
  receipt("read", { reference: "\ud800" }),
  inbound({ ...HEARD, text: "\0", group: GROUP }),
  { ...HEARD, kind: "reaction", reference: "\0", from: "\0", target: "\0", type: "love", content: "\0" },
  { ...HEARD, kind: "typing", from: "\0", group: GROUP, typing: true },
  { ...HEARD, kind: "call", callUuid: "\0", caller: "\0", isVideo: true, isOutgoing: false, status: "incoming" },
  { ...HEARD, kind: "revision", reference: "\0", text: "\0" },
  { ...HEARD, kind: "audioKept", reference: "\0" },
  {
    ...HEARD,
    kind: "group",
    reference: "\0",
    group: GROUP,
    change: "titleChanged",
    participant: null,
    title: "\0",
    actor: null,
  },
];

for (const signal of FORGED) {
  test(`a ${signal.kind} signal with odd texts, for an unknown number and message, changes nothing, and is reported`, async (t) => {
    const stage = await engineStage(t, { faults: stageFaults });
    await stage.report(signal);
    // A receipt for an unknown message is `unknown`, because it may be early.
    assert.equal(stage.observed.faults.length, signal.kind === "receipt" ? 0 : 1);
    for (const table of ["messages", "events", "chats", "calls"] as const) {
      assert.deepEqual(await stage.deps.store.db.selectFrom(table).select("id").execute(), []);
    }
  });
}

const stageFaults = ["receive", "typing", "calls", "groups"];
