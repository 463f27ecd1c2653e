/** References and addresses of peers that are longer than any index takes, on both databases. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { type TestContext as NodeTest, test } from "node:test";
import { type TestContext, testContext } from "../../../test/support/context.ts";
import { postgresForFile } from "../../../test/support/postgres.ts";
import { inbound } from "../../../test/support/provider.ts";
import { openPostgres } from "../../store/postgres/store.ts";
import { decode } from "../../store/rows.ts";
import { listKnownReferences } from "../../store/send-attempts.ts";
import { apply } from "../apply.ts";
import { attemptsOf } from "./attempt-notes.ts";

const postgres = postgresForFile(["fsync=off"]);

/** 10,000 characters that nothing compresses, the same for the same `seed`. */
function long(seed: string): string {
  const parts = Array.from({ length: 157 }, (_, index) =>
    createHash("sha256").update(`${seed} ${index}`).digest("hex"),
  );
  return parts.join("").slice(0, 10_000);
}

const OPENED: Record<string, (t: NodeTest) => Promise<TestContext>> = {
  async SQLite(t) {
    const made = await testContext();
    t.after(made.close);
    return made;
  },
  async PostgreSQL(t) {
    const { url, drop } = await postgres.create();
    const made = await testContext({ store: await openPostgres(url, "member_1") });
    t.after(async () => {
      await made.close();
      await drop();
    });
    return made;
  },
};

for (const [database, open] of Object.entries(OPENED)) {
  test(`${database}: a message with a reference of 10,000 characters is kept, once, and is found by it`, async (t) => {
    const { deps, instance } = await open(t);
    const [first, second] = [`${long("same")}1`, `${long("same")}2`];
    await apply(deps, instance.id, inbound({ reference: first, text: "one" }));
    await apply(deps, instance.id, inbound({ reference: first, text: "one again" }));
    await apply(deps, instance.id, inbound({ reference: second, text: "two", replyTo: first }));
    const rows = await deps.store.db.selectFrom("messages").selectAll().orderBy("id").execute();
    const messages = rows.map((row) => decode("messages", row));
    assert.deepEqual(
      messages.map(({ text }) => text),
      ["one", "two"],
    );
    assert.equal(messages[1]?.parentMessageId, messages[0]?.id);
    const common = { to: inbound().to, channel: "imessage" } as const;
    await apply(deps, instance.id, { kind: "revision", ...common, reference: first, text: "edited" });
    const edited = await deps.store.db.selectFrom("messages").selectAll().orderBy("id").execute();
    assert.equal(edited.map((row) => decode("messages", row).text)[0], "edited");
    assert.deepEqual([...(await attemptsOf(() => deps, instance.id).known([first, "x"]))], [first]);
    assert.equal((await listKnownReferences(deps.store.db, instance.id, [first])).size, 0, "it is stored shorter");
  });

  test(`${database}: a message, a reaction, a call and a change of a group with long names are kept`, async (t) => {
    const { deps, instance } = await open(t);
    const common = { to: inbound().to, channel: "imessage" } as const;
    const from = long("from");
    const group = { reference: long("group"), name: null, participants: [from, long("other")] };
    for (const repeat of [1, 2]) {
      await apply(deps, instance.id, inbound({ reference: `in-${repeat}`, from }));
      await apply(deps, instance.id, inbound({ reference: `in-group-${repeat}`, from, group }));
    }
    const reference = long("reaction");
    const reacted = { type: "love", content: "Loved it", target: "in-1" } as const;
    await apply(deps, instance.id, { kind: "reaction", ...common, reference, from, ...reacted });
    const called = { callUuid: long("call"), caller: from, isVideo: true, isOutgoing: false } as const;
    await apply(deps, instance.id, { kind: "call", ...common, channel: "imessage", ...called, status: "incoming" });
    const changed = { change: "participantAdded", participant: long("added"), title: null, actor: from } as const;
    await apply(deps, instance.id, { kind: "group", ...common, reference: long("change"), group, ...changed });
    await apply(deps, instance.id, { kind: "typing", ...common, from, group: null, typing: true });
    const counts = await Promise.all(
      (["messages", "chats", "calls"] as const).map(async (table) => {
        return (await deps.store.db.selectFrom(table).selectAll().execute()).length;
      }),
    );
    assert.deepEqual(counts, [4, 2, 1]);
  });
}
