/**
 * `DELETE /v1/contacts/:id?erase=true`: everything written with a person is erased, and only the fact that it happened
 * stays.
 */

import assert from "node:assert/strict";
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, test } from "node:test";
import { startNotifiedService } from "../support/notified.ts";
import { isOnPostgres } from "../support/service-database.ts";
import { until } from "../support/wait.ts";

const OTHER = "+15005550101";
const fileWith = (word: string) => Buffer.from(`%PDF-1.4\n${word} in a file\n`).toString("base64");

const { api, receiver, stop } = await startNotifiedService({ TB_FETCH_ALLOW: "loopback" });
after(stop);

let people = 0;

/** A person without messages so far; `word` is in everything written with them, and nowhere else. */
interface Person {
  to: string;
  id: string;
  word: string;
}

async function person(): Promise<Person> {
  people += 1;
  const word = `Zanzibar${people}x`;
  const to = `+15005554${String(people).padStart(3, "0")}`;
  const { data } = await api.ask("POST", "/v1/contacts", { body: { phoneNumber: to, firstName: word } });
  return { to, id: data.id, word };
}

const post = async (path: string, body: object) => {
  const { status, data, error } = await api.ask("POST", path, { body });
  assert.ok(status < 300, `${path}: ${JSON.stringify(error)}`);
  return data;
};
const send = ({ to, word }: Person, more: object = {}) =>
  post("/v1/messages", { to, content: { text: `${word} by text` }, ...more });
const erase = (id: string, key = api.key) => api.ask("DELETE", `/v1/contacts/${id}?erase=true`, { key });
const isErased = async (id: string) => (await erase(id)).data.erasedAt !== null;
const delivered = (id: string) =>
  until(async () => ["delivered", "read"].includes((await api.ask("GET", `/v1/messages/${id}`)).data?.status), {
    limitMs: 60_000,
  });
/** All deliveries have ended, so nothing waits for the bytes of an event. */
const settled = () =>
  until(async () => (await api.ask("GET", "/v1/webhooks/deliveries?status=pending")).data.deliveries.length === 0);

/** Columns of all tables that contain a text: `table.column: value`. */
async function found(text: string, except: readonly string[] = []): Promise<string[]> {
  const tables = isOnPostgres
    ? "select relname as name from pg_class where relkind in ('r', 'p') and not relispartition and relnamespace = 'public'::regnamespace"
    : "select name from sqlite_master where type = 'table'";
  const places: string[] = [];
  for (const { name } of await api.sql(tables)) {
    const rows = await api.sql(`select * from "${name}"`);
    const columns = rows.flatMap((row) => Object.entries(row));
    for (const [column, value] of columns) {
      const bytes = value instanceof Uint8Array ? Buffer.from(value).toString("latin1") : String(value);
      if (bytes.includes(text)) places.push(`${name}.${column}: ${String(value).slice(0, 200)}`);
    }
  }
  return places.filter((place) => !except.some((one) => place.startsWith(one)));
}

/** How often a text is in the files of a database, in used parts of pages or not. */
function countIn(directory: string, text: string): number {
  const files = readdirSync(directory).filter((name) => name.startsWith("tightbeam.db"));
  const texts = files.map((name) => readFileSync(join(directory, name)).toString("latin1"));
  return texts.reduce((sum, one) => sum + one.split(text).length - 1, 0);
}

/** The same after `vacuum`, in a copy. */
function countAfterVacuum(text: string): number {
  const directory = mkdtempSync(join(tmpdir(), "tightbeam-vacuum-"));
  try {
    for (const name of readdirSync(api.dataDir).filter((one) => one.startsWith("tightbeam.db")))
      copyFileSync(join(api.dataDir, name), join(directory, name));
    const database = new DatabaseSync(join(directory, "tightbeam.db"));
    database.exec("vacuum; pragma wal_checkpoint(truncate)");
    database.close();
    return countIn(directory, text);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** Writes with a person in every way there is. */
async function writeWith(someone: Person): Promise<void> {
  const { to, word } = someone;
  const file = { type: "base64", data: fileWith(word) };
  const said = [
    await send(someone, { metadata: { note: word }, externalMessageId: `${word}-1`, callbackUrl: `${receiver.url}/2` }),
    await send(someone, { attachments: [{ ...file, filename: `${word}.pdf` }] }),
    await send(someone, { content: { text: `${word} \u{1f600} by SMS` }, routing: { preference: ["sms"] } }),
  ];
  for (const { id } of said) await delivered(id);
  await post(`/v1/sandbox/phones/${to}/messages`, { text: `${word} back`, attachments: [file] });
  await post(`/v1/sandbox/phones/${to}/typing`, { typing: true });
  await post(`/v1/sandbox/phones/${to}/reactions`, { messageId: said[0].id, type: "love" });
  await post(`/v1/sandbox/phones/${to}/calls`, { action: "ring" });
  await post("/v1/payments/request", { to, amount: 5, note: word, metadata: { note: word } });
  await send(someone, { scheduledAt: new Date(Date.now() + 86_400_000).toISOString() });
  const contacts = [{ phoneNumber: to }, { phoneNumber: `${to} of ${word}` }, { email: word }];
  await api.ask("POST", "/v1/contacts/bulk", { body: { contacts }, headers: { "idempotency-key": `bulk ${people}` } });
  const { data: group } = await api.ask("POST", "/v1/chats/groups", { body: { participants: [to, OTHER] } });
  await post("/v1/messages", { chatId: group.id, content: { text: "To the group" } });
}

test("no table holds the contact's texts, files or address any more; other contacts keep theirs", async () => {
  receiver.answer = (received, response) => void response.end(received.body);
  const someone = await person();
  const { to, id, word } = someone;
  await post("/v1/messages", { to: OTHER, content: { text: "Somebody else's words" } });
  await writeWith(someone);
  await settled();
  const byAdmin = (path: string) => api.ask("GET", path, { key: api.adminKey });
  assert.equal((await byAdmin(`/v1/chats/${to}/messages`)).status, 403);
  assert.equal((await byAdmin("/v1/admin/customers")).status, 200);
  assert.ok((await found(word)).length > 15 && (await found(to)).length > 15);
  const { status, data } = await erase(id);
  assert.deepEqual([status, data], [200, { id, deleted: true, erasedAt: null }]);
  assert.equal((await api.ask("GET", `/v1/contacts/${id}`)).status, 404);
  await until(() => isErased(id), { limitMs: 60_000 });
  assert.deepEqual(await found(word), []);
  assert.deepEqual(await found(to, ["chats.participants", "memory.", 'events.bytes: {"id":"evt_none']), []);
  assert.ok((await found("Somebody else's words")).length > 0);
  assert.ok((await found("To the group")).length > 0);
  assert.ok((await found("/v1/admin/customers")).length > 0);
});

test("ids, times and statuses of erased messages and events stay, in valid records", async () => {
  const someone = await person();
  const { id } = someone;
  const { id: messageId } = await send(someone);
  await delivered(messageId);
  await settled();
  await erase(id);
  await until(() => isErased(id), { limitMs: 60_000 });
  assert.equal((await api.ask("GET", `/v1/messages/${messageId}`)).status, 404);
  const { data } = await api.ask("GET", `/v1/events?messageId=${messageId}`);
  const emitted = data.events.map((event: { type: string; data: Record<string, unknown> }) => [
    event.type,
    event.data.to,
    event.data.text,
  ]);
  assert.deepEqual(emitted.reverse(), [
    ["message.queued", "erased", null],
    ["message.sent", "erased", null],
    ["message.delivered", "erased", null],
  ]);
  const { data: again } = await erase(id);
  assert.match(again.erasedAt, /Z$/);
});

test("a scheduled message and a pending payment request are cancelled, and nothing is sent", async () => {
  const someone = await person();
  const { to, id, word } = someone;
  const scheduled = await send(someone, { scheduledAt: new Date(Date.now() + 86_400_000).toISOString() });
  const payment = await post("/v1/payments/request", { to, amount: 7, note: word });
  await delivered(payment.messageId);
  await erase(id);
  await until(() => isErased(id), { limitMs: 60_000 });
  const { data } = await api.ask("GET", `/v1/payments/requests/${payment.id}`);
  assert.deepEqual([data.status, data.note, data.to, data.amount], ["cancelled", null, "erased", "7.00"]);
  const { data: events } = await api.ask("GET", `/v1/events?messageId=${scheduled.id}`);
  assert.equal(events.events[0].type, "message.schedule_cancelled");
});

test("an opt-out stays: a contact who opted out gets no message after the erasure either", async () => {
  const { to, id } = await person();
  await post(`/v1/sandbox/phones/${to}/messages`, { text: "STOP", channel: "sms" });
  await erase(id);
  await until(() => isErased(id), { limitMs: 60_000 });
  const refused = await api.ask("POST", "/v1/messages", { body: { to, content: { text: "Hi" } } });
  assert.equal(refused.error?.code, "RECIPIENT_OPTED_OUT");
  const { data } = await api.ask("GET", "/v1/events?type=contact.opted_out&limit=1");
  const [{ data: event }] = data.events;
  assert.deepEqual([event.contact, event.keyword, event.reason], ["erased", null, null], "its event names nobody");
});

test("messages after the erasure request stay, in a working conversation", async () => {
  const someone = await person();
  const { to, id } = someone;
  await delivered((await send(someone)).id);
  await erase(id);
  const later = await send(someone, { content: { text: "A new beginning" } });
  await until(() => isErased(id), { limitMs: 60_000 });
  assert.equal((await api.ask("GET", `/v1/messages/${later.id}`)).data.content.text, "A new beginning");
  const { data } = await api.ask("GET", `/v1/chats/${encodeURIComponent(to)}/messages`);
  assert.deepEqual(
    data.messages.map((message: { id: string }) => message.id),
    [later.id],
  );
});

test("events with pending deliveries are delivered whole, then erased", async () => {
  const someone = await person();
  const { id, word } = someone;
  receiver.answer = (_, response) => void response.writeHead(500).end();
  const { id: messageId } = await send(someone);
  await delivered(messageId);
  await until(() => receiver.types(messageId).includes("message.delivered"));
  await erase(id);
  await until(async () => (await api.ask("GET", `/v1/messages/${messageId}`)).status === 404);
  assert.equal((await erase(id)).data.erasedAt, null);
  assert.ok((await found(word)).some((place) => place.startsWith("events.bytes")));
  // Requests of the log are erased at the end.
  assert.deepEqual(await found(word, ["events.bytes", "requests."]), []);
  receiver.answer = (_, response) => void response.end();
  const { data } = await api.ask("GET", `/v1/webhooks/deliveries?messageId=${messageId}`);
  for (const delivery of data.deliveries) await post(`/v1/webhooks/deliveries/${delivery.id}/retry`, {});
  await until(() => isErased(id), { limitMs: 60_000 });
  assert.deepEqual(await found(word), []);
});

test("an interrupted erasure continues after a restart, and leaves hardly a text in the database file, and none after vacuum", async () => {
  const someone = await person();
  const { id, word } = someone;
  const sent = await Promise.all(Array.from({ length: 60 }, () => send(someone)));
  for (const one of sent) await delivered(one.id);
  await settled();
  await api.restart();
  const text = `${word} by text`;
  assert.ok(isOnPostgres || countIn(api.dataDir, text) >= sent.length);
  await erase(id);
  await api.restart();
  await until(() => isErased(id), { limitMs: 60_000 });
  assert.deepEqual(await found(word), []);
  await api.restart();
  if (isOnPostgres) return;
  // SQLite overwrites what is erased, but not the copies that it leaves behind when it moves a row to another page.
  assert.ok(countIn(api.dataDir, text) <= sent.length / 4);
  assert.equal(countAfterVacuum(text), 0);
});

test("another customer's contact and a deleted contact are 404", async () => {
  const { id } = await person();
  await api.ask("DELETE", `/v1/contacts/${id}`);
  assert.equal((await erase(id)).error?.code, "NOT_FOUND");
});
