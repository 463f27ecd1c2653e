/** The process that runs a carrier's instance is killed during a send attempt: the next owner keeps the order of the sender and recipient. */

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import pg from "pg";
import { createDatabase, startPostgres } from "../support/postgres.ts";
import { ADMIN_KEY, type Running, startProcess } from "../support/process.ts";
import { FakeTwilio } from "../support/twilio/fake-twilio.ts";
import { until } from "../support/wait.ts";

const TIMEOUT_MS = 420_000;
const OWN = "+15550000001";
const CONTACT = "+15550100001";
const OTHER = "+15550100002";
/** Up to the takeover, to the end of the attempt's lease on disk, and until the carrier's list proves that it has no such message. */
const SETTLED_MS_MAX = 240_000;

test("later messages wait for one whose attempt ended with its process, although its lease lasts longer than the takeover takes", {
  timeout: TIMEOUT_MS,
}, async (t) => {
  const server = await startPostgres();
  t.after(() => server.stop());
  const { url: databaseUrl } = await createDatabase(server);
  const directory = mkdtempSync(join(tmpdir(), "tightbeam-takeover-"));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const carrier = await new FakeTwilio().start();
  t.after(() => carrier.stop());
  const env = { DATABASE_URL: databaseUrl, TB_SECRET_KEY: Buffer.alloc(32, 5).toString("base64") };
  const owner = await startProcess(t, { dataDir: join(directory, "a"), env });
  const admin = async (at: Running, path: string, body: unknown) => {
    const made = await at.ask("POST", `/v1/admin${path}`, body, ADMIN_KEY);
    assert.ok(made.status < 300, made.text);
    return made.data;
  };
  const instance = await admin(owner, "/instances", { name: "Carrier", provider: "twilio", config: carrier.config });
  const customer = await admin(owner, "/customers", { name: "Of the carrier" });
  const number = { phoneNumber: OWN, provider: "twilio", instanceId: instance.id };
  await admin(owner, `/customers/${customer.id}/numbers`, number);
  const { key } = await admin(owner, "/keys", { name: "key", customerId: customer.id });
  const send = async (to: string, text: string) => {
    const sent = await owner.ask("POST", "/v1/messages", { to, content: { text } }, key);
    assert.equal(sent.status, 202, sent.text);
    return sent.data.id as string;
  };
  const taken = () => carrier.taken({ to: CONTACT }).map(({ body }) => body);
  await send(OTHER, "Ahead");
  await until(() => carrier.taken({ to: OTHER }).length === 1, { what: "the first message" });
  const next = await startProcess(t, { dataDir: join(directory, "b"), env: { ...env, TB_ROLE: "worker" } });

  // The carrier does not answer, and never gets it.
  carrier.behaviours.set(CONTACT, { answer: "never", takes: false });
  const ids = [await send(CONTACT, "First")];
  const database = new pg.Client({ connectionString: databaseUrl });
  // The server ends it when the test is over.
  database.on("error", () => {});
  await database.connect();
  t.after(() => database.end());
  const isHeld = async () => (await database.query("select from due_messages where is_held = 1")).rowCount === 1;
  await until(isHeld, { what: "the attempt on disk" });
  for (const text of ["Second", "Third"]) ids.push(await send(CONTACT, text));
  await owner.end("SIGKILL");
  carrier.behaviours.delete(CONTACT);
  const seenHeld = async () => {
    const { rows } = await database.query(
      "select from member_leases where owner in (select id from members where role = 'worker')",
    );
    return rows.length > 1 && (await isHeld());
  };
  await until(seenHeld, { limitMs: SETTLED_MS_MAX, what: "the takeover, before the attempt's lease has ended" });
  await until(() => taken().length === 3, { limitMs: SETTLED_MS_MAX, what: "the three messages" });
  assert.deepEqual(taken(), ["First", "Second", "Third"]);
  const areSent = async () => {
    const { rows } = await database.query<{ status: string }>("select status from messages where id = any($1)", [ids]);
    return rows.every(({ status }) => status === "sent" || status === "delivered");
  };
  await until(areSent, { what: "the outcomes on disk" });
  assert.equal((await next.end("SIGTERM")).code, 0, next.output.stderr);
});
