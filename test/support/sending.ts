/** Messages accepted in a test context, in their stored form, and their chats. */

import assert from "node:assert/strict";
import type { TestContext as NodeTest } from "node:test";
import type { SendMessage } from "../../sdk/wire.ts";
import type { Chat } from "../../server/core/chat.ts";
import type { MessageId } from "../../server/core/id.ts";
import type { Message } from "../../server/core/message.ts";
import { newMessage } from "../../server/core/new-message.ts";
import { newGroup } from "../../server/engine/chats/groups.ts";
import { accept } from "../../server/engine/messages/accept.ts";
import { findMessage } from "../../server/store/messages.ts";
import { commitAll, type Tenant, type TestContext, testContext } from "./context.ts";

/** An address that nothing is known of. */
export const TO = "+15550100001";
export const CORRELATION = `cor_${"0".repeat(32)}`;

/** A test context that the test's end closes. */
export async function openContext(t: NodeTest, ...[options]: Parameters<typeof testContext>): Promise<TestContext> {
  const made = await testContext(options);
  t.after(() => made.close());
  return made;
}

/** Accepts a message of a tenant, and returns its stored form. */
export async function send(made: TestContext, body: SendMessage, tenant: Tenant = made): Promise<Message> {
  const content = body.content ?? { text: "Hello" };
  const requester = { customerId: tenant.customer.id, keyId: tenant.apiKey.id, correlationId: CORRELATION };
  const wanted = newMessage(requester, body.attachments === undefined ? { ...body, content } : body);
  const { record } = await accept(made.deps, wanted, body.idempotencyKey ?? null);
  const message = await findMessage(made.deps.store.db, record.id as MessageId);
  assert.ok(message !== null);
  return message;
}

/** All chats, the oldest first. */
export async function chats({
  deps,
}: TestContext): Promise<{ id: string; customer_id: string; contact: string | null }[]> {
  return deps.store.db.selectFrom("chats").select(["id", "customer_id", "contact"]).orderBy("id").execute();
}

/** A group of a tenant, as its provider made it. */
export async function groupFor(made: TestContext, more: Partial<Chat> = {}, tenant: Tenant = made): Promise<Chat> {
  const group = newGroup(made.deps, {
    customerId: tenant.customer.id,
    from: tenant.number.address,
    channel: "imessage",
    instanceId: made.instance.id,
    reference: `group-${made.deps.newId("ref")}`,
    name: "Us",
    participants: [TO, "+15550100002"],
  });
  const chat = { ...group, ...more };
  await commitAll(made.deps, [{ op: "insert", table: "chats", record: chat }]);
  return chat;
}
