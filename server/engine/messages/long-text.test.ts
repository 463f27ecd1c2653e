/** Texts of contacts that are longer than any phone sends. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { testContext } from "../../../test/support/context.ts";
import { inbound } from "../../../test/support/provider.ts";
import { decode } from "../../store/rows.ts";
import { apply } from "../apply.ts";

test("a text of any provider beyond 64 KiB is cut there at a character, and message.inbound says textTruncated", async (t) => {
  const { close, deps, instance } = await testContext();
  t.after(close);
  await apply(deps, instance.id, inbound({ reference: "in-1", text: "🥓".repeat(16_384) }));
  await apply(deps, instance.id, inbound({ reference: "in-2", text: `a${"🥓".repeat(40_000)}` }));
  const rows = await deps.store.db.selectFrom("messages").selectAll().orderBy("id").execute();
  const texts = rows.map((row) => decode("messages", row).text);
  assert.deepEqual(texts, ["🥓".repeat(16_384), `a${"🥓".repeat(16_383)}`]);
  const events = await deps.store.db.selectFrom("events").select("bytes").orderBy("position").execute();
  assert.deepEqual(
    events.map(({ bytes }) => JSON.parse(bytes).data.textTruncated),
    [undefined, true],
  );
});

test("an edit of a contact beyond 64 KiB is cut there at a character, and message.edited says textTruncated", async (t) => {
  const { close, deps, instance } = await testContext();
  t.after(close);
  await apply(deps, instance.id, inbound({ reference: "in-1" }));
  const edit = { kind: "revision", reference: "in-1", to: inbound().to, channel: "imessage" } as const;
  await apply(deps, instance.id, { ...edit, text: "🥓".repeat(40_000) });
  await apply(deps, instance.id, { ...edit, text: "short" });
  const events = await deps.store.db.selectFrom("events").select("bytes").orderBy("position").execute();
  assert.deepEqual(
    events.map(({ bytes }) => JSON.parse(bytes)).map(({ type, data }) => [type, data.text.length, data.textTruncated]),
    [
      ["message.inbound", 2, undefined],
      ["message.edited", 32_768, true],
      ["message.edited", 5, undefined],
    ],
  );
});
