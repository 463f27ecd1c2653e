/** Actions on a sandbox phone: they take effect in the order of their requests. */

import assert from "node:assert/strict";
import { type TestContext as NodeTest, test } from "node:test";
import type { PhoneMessage } from "../../../sdk/wire.ts";
import { openContext } from "../../../test/support/sending.ts";
import { STAYS } from "../../../test/support/stays.ts";
import { changePhone, reactFromPhone, typeOnPhone, writeFromPhone } from "./phones.ts";

const NUMBER = "+15005550199";
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** A phone of a context whose sandbox runs. */
async function openPhone(t: NodeTest) {
  const { deps, customer, instance } = await openContext(t);
  await deps.connections.connect(deps, instance);
  t.after(() => deps.connections.stop(deps));
  const act = <Body>(body: Body, idempotencyKey: string | null = null) => ({
    customerId: customer.id,
    number: NUMBER,
    idempotencyKey,
    body,
    gone: () => STAYS,
  });
  const write = (body: PhoneMessage, key?: string) => writeFromPhone(deps, act(body, key));
  return { deps, customer, act, write };
}

test("messages of one phone are stored in the order of their requests, whatever each of them has to look up", async (t) => {
  const { write } = await openPhone(t);
  const parent = await write({ text: "Before" });
  const file = { type: "base64", data: PNG, filename: "dot.png" } as const;
  const written = await Promise.all([
    write({ text: "1", replyTo: parent.id, attachments: [file] }, "first"),
    write({ text: "2", replyTo: parent.id }),
    write({ text: "3" }, "third"),
    write({ text: "4" }),
  ]);
  const ids = written.map(({ id }) => id);
  assert.deepEqual(ids, ids.toSorted());
});

test("a reaction, its removal, typing and a setting of one phone take effect in the order of their requests", async (t) => {
  const { deps, customer, act, write } = await openPhone(t);
  const message = await write({ text: "Before" });
  const done: string[] = [];
  const as = (name: string) => () => void done.push(name);
  await Promise.all([
    reactFromPhone(deps, act({ messageId: message.id, type: "love" }, "key")).then(as("love")),
    reactFromPhone(deps, act({ messageId: message.id, type: "-love" })).then(as("-love")),
    typeOnPhone(deps, act({ typing: true })).then(as("types")),
    changePhone(deps, { customerId: customer.id, number: NUMBER }, { imessage: false }).then(as("off")),
    write({ text: "By SMS" }).then(({ channel }) => as(channel)()),
  ]);
  assert.deepEqual(done, ["love", "-love", "types", "off", "sms"]);
});
