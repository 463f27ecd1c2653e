/** Undecodable rows, at least one in each table: only their customer notices, and repaired rows work again. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type TestContext, test } from "node:test";
import { type Neighbours, startNeighbours } from "../support/neighbours.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";
import { SKIP_ON_POSTGRES } from "../support/service-database.ts";
import { until } from "../support/wait.ts";

/** The sandbox delivers to it. */
const RECIPIENT = "+15005550100";

type Value = string | number | bigint | Uint8Array | null;

/** An undecodable row: a copy of the row that `where` finds, with a new id and these values. */
interface Broken {
  table: string;
  column: string;
  value: Value;
  /** Further columns in which the copy differs, so that its keys are unique. */
  also?: Record<string, Value>;
  where?: string;
}

const DUE = { status: "queued", due_at: 1, claimed_until: null };
/** In a lane of its own, and not in that of an endpoint that is broken too. */
const DUE_DELIVERY = {
  status: "pending",
  due_at: 1,
  attempt_count: 0,
  lane: "broken",
  endpoint_id: null,
};

const BROKEN: readonly Broken[] = [
  { table: "customers", column: "routes", value: "null" },
  { table: "customers", column: "quiet_hours", value: "[]" },
  { table: "endpoints", column: "events", value: "[", also: { kind: "extra" } },
  { table: "endpoints", column: "events", value: '"x"', also: { kind: "extra" } },
  { table: "endpoints", column: "active", value: "yes", also: { kind: "extra" } },
  { table: "messages", column: "timeline", value: "{}", also: DUE },
  { table: "messages", column: "channels_left", value: "null", also: DUE },
  { table: "messages", column: "attachments", value: "[", also: DUE },
  { table: "messages", column: "metadata", value: '"x"', also: DUE },
  { table: "messages", column: "sequence", value: "x", also: DUE },
  { table: "messages", column: "created_at", value: 9_000_000_000_000_000_000n, also: DUE },
  { table: "messages", column: "status", value: "flying", also: { ...DUE, status: "flying" } },
  { table: "messages", column: "channel", value: "pigeon", also: { deleted_at: 1, erased_at: null } },
  { table: "deliveries", column: "status", value: "lost", also: { ...DUE_DELIVERY, status: "lost" } },
  { table: "deliveries", column: "event_type", value: "message.flew", also: DUE_DELIVERY },
  { table: "deliveries", column: "retry_count", value: "many", also: DUE_DELIVERY },
  { table: "deliveries", column: "event_id", value: "evt_none", also: DUE_DELIVERY },
  { table: "events", column: "type", value: "message.flew" },
  { table: "deliveries", column: "attempts", value: '[{"at":"noon"}]', also: DUE_DELIVERY },
  { table: "payments", column: "status", value: "maybe", also: { due_at: 1 } },
  { table: "payments", column: "paid_by", value: "[", also: { due_at: 1 } },
  { table: "chats", column: "participants", value: "{}", also: { key: "broken" } },
  { table: "contacts", column: "tags", value: "x" },
  { table: "contact_addresses", column: "contact_id", value: Buffer.from("x"), also: { address: "+15005550199" } },
  { table: "calls", column: "history", value: "[1]", also: { call_uuid: "broken" } },
  { table: "contents", column: "total_bytes", value: "big" },
  { table: "opt_outs", column: "source", value: "rumour", also: { contact: "+15005550199" } },
  { table: "numbers", column: "provider", value: "pigeon", also: { address: "+15005550198", is_default: 0 } },
  { table: "keys", column: "scope", value: "root", also: { hash: "broken" } },
  { table: "instances", column: "version", value: "x" },
  { table: "idempotency", column: "created_at", value: "x", also: { key: "broken" }, where: "true" },
  { table: "memory", column: "value", value: Buffer.from("x"), also: { key: "owed broken" }, where: "true" },
  { table: "provider_references", column: "channel", value: "pigeon", also: { reference: "broken" }, where: "true" },
  { table: "send_attempts", column: "state", value: "flown", also: { reference: "broken" }, where: "true" },
  { table: "arrivals", column: "created_at", value: "x" },
  { table: "usage", column: "requests", value: "many", also: { at: 0 }, where: "true" },
];

const GONE = BROKEN.findIndex(({ column }) => column === "event_id");

/** Tables that a loop reads whole, or a claim: their broken rows are found without anybody asking for them. */
const FOUND_BY_LOOPS = ["deliveries", "endpoints", "instances", "messages", "payments"];

interface Stage extends Neighbours {
  receivers: Record<"first" | "other", Receiver>;
  /** The primary endpoint of the first customer, which is broken in its place. */
  endpointId: string;
  breakAll(): void;
  database<Result>(work: (database: DatabaseSync) => Result): Result;
}

async function stageOf(t: TestContext): Promise<Stage> {
  const neighbours = await startNeighbours();
  t.after(() => neighbours.api.stop());
  const receivers = { first: await startReceiver(), other: await startReceiver() };
  t.after(() => Promise.all(Object.values(receivers).map((receiver) => receiver.stop())));
  const { first, other, api, firstId } = neighbours;
  const { data: endpoint } = await first("PUT", "/v1/webhooks", { url: receivers.first.url, events: ["*"] });
  await first("POST", "/v1/webhooks", { url: `${receivers.first.url}/2`, events: ["*"] });
  await other("PUT", "/v1/webhooks", { url: receivers.other.url, events: ["*"] });
  await other("POST", "/v1/payments/request", { to: RECIPIENT, amount: 7 });
  const database: Stage["database"] = (work) => {
    const opened = new DatabaseSync(join(api.dataDir, "tightbeam.db"));
    try {
      return work(opened);
    } finally {
      opened.close();
    }
  };
  return {
    ...neighbours,
    receivers,
    endpointId: endpoint.id,
    database,
    breakAll: () =>
      database((opened) => {
        for (const [index, broken] of BROKEN.entries()) copy(opened, firstId, broken, index);
        opened.prepare("update endpoints set events = '[' where id = ?").run(endpoint.id);
        // The other customer's request is due after the broken ones.
        opened
          .prepare("update payments set due_at = 2 where customer_id = ? and status = 'pending'")
          .run(neighbours.otherId);
      }),
  };
}

function copy(database: DatabaseSync, customerId: string, broken: Broken, index: number): void {
  const { table, column, value, also = {}, where } = broken;
  const columns = database
    .prepare(`pragma table_info(${table})`)
    .all()
    .map(({ name }) => String(name));
  const own = table === "customers" ? `id = '${customerId}'` : `customer_id = '${customerId}'`;
  const found = columns.includes("customer_id") || table === "customers" ? own : "true";
  const whole = columns.includes("id") ? "id not like '%_00000000-%'" : "true";
  const row = database.prepare(`select * from ${table} where ${where ?? found} and ${whole} limit 1`).get();
  const of: Record<string, Value> = { ...(row ?? blank(columns)), ...also, [column]: value };
  if (columns.includes("id")) of.id = `${String(of.id).split("_")[0]}_00000000-0000-7000-8000-0000000000${10 + index}`;
  delete of.position;
  const names = Object.keys(of);
  const quoted = names.map((name) => `"${name}"`).join(", ");
  database
    .prepare(`insert into ${table} (${quoted}) values (${names.map(() => "?").join(", ")})`)
    .run(...Object.values(of));
}

function blank(columns: readonly string[]): Record<string, Value> {
  return Object.fromEntries(columns.map((name) => [name, "x"]));
}

async function delivered(stage: Stage, who: "first" | "other", receiver = stage.receivers[who]): Promise<string> {
  const { status, data } = await stage[who]("POST", "/v1/messages", { to: RECIPIENT, content: { text: "Hello" } });
  assert.equal(status, 202);
  await until(() => receiver.types(data.id).includes("message.delivered"), { what: `${who}'s message.delivered` });
  return data.id;
}

async function healthOf({ api }: Stage) {
  const headers = { authorization: `Bearer ${api.adminKey}` };
  const answer = await fetch(`${api.url}/health`, { headers });
  return (await answer.json()) as { status: string; checks: Record<string, { status: string; message?: string }> };
}

test("35 undecodable rows hold up no other customer, and repaired rows continue", {
  skip: SKIP_ON_POSTGRES,
}, async (t) => {
  const stage = await stageOf(t);
  const { api, first, other, receivers } = stage;
  await api.restart(async () => {
    stage.breakAll();
    return {};
  });
  // In sequence: each finds what the previous one may have blocked.
  for (let count = 0; count < 3; count += 1) await delivered(stage, "other");
  await until(() => receivers.other.types().includes("payment.request.expired"), { what: "the other's payment" });

  // The customer with the broken endpoint sends too, and its other endpoint gets the events.
  const before = receivers.first.received.length;
  const ownId = await delivered(stage, "first");
  const since = receivers.first.received.slice(before);
  assert.ok(
    since.every(({ path }) => path === "/hook/2"),
    "only the endpoint that can be read is told",
  );

  await until(
    async () => {
      const { rows } = (await healthOf(stage)).checks;
      return FOUND_BY_LOOPS.every((table) => rows?.message?.includes(` ${table}`));
    },
    { limitMs: 60_000, what: "health to name the tables" },
  );
  const health = await healthOf(stage);
  assert.deepEqual([health.status, health.checks.rows?.status], ["degraded", "degraded"]);
  assert.doesNotMatch(JSON.stringify(health.checks.rows), /_0000|cust_|wh_/);
  await until(
    async () => {
      const metrics = await (await fetch(`${api.url}/metrics`)).text();
      const counts = ['endpoints"} 4', 'messages"} 8', 'deliveries"} 5', 'payments"} 2', 'instances"} 1'];
      return counts.every((count) => metrics.includes(`tightbeam_quarantined_rows{table="${count}\n`));
    },
    { limitMs: 60_000, what: "metrics to count them" },
  );

  const parked = stage.database((opened) =>
    opened
      .prepare(`select m.due_at, m.claimed_until from messages m join quarantined q on q.id = m.id where q.parked = 1`)
      .all(),
  );
  assert.equal(parked.length, 7, "the due ones are out of their queue");
  assert.ok(parked.every(({ due_at, claimed_until }) => due_at === null && claimed_until === null));

  await listsWithout(stage);
  assert.equal((await first("GET", "/v1/webhooks")).status, 500);
  assert.equal((await other("GET", "/v1/webhooks")).status, 200);

  // Repaired while the service runs: it uses the endpoint again by itself, and sends the waiting deliveries.
  stage.database((opened) => {
    opened.prepare(`update endpoints set events = '["*"]' where id = ?`).run(stage.endpointId);
    opened.prepare(`update messages set timeline = '[]' where timeline = '{}'`).run();
  });
  await until(async () => (await first("GET", "/v1/webhooks")).status === 200, {
    limitMs: 60_000,
    what: "the endpoint",
  });
  await until(async () => !(await healthOf(stage)).checks.rows?.message?.includes("4 in endpoints"), {
    limitMs: 60_000,
    what: "a look",
  });
  const id = await delivered(stage, "first");
  assert.ok(receivers.first.received.some(({ path, event }) => path === "/hook" && event.data.messageId === id));
  assert.ok(ownId !== id);
});

/** Lists leave broken rows out, and name all others. */
async function listsWithout({ first, admin }: Stage): Promise<void> {
  const lists: [path: string, name: string, asks: Neighbours["first"]][] = [
    ["/v1/messages?limit=100", "messages", first],
    ["/v1/messages?limit=2", "messages", first],
    ["/v1/events?limit=100", "events", first],
    ["/v1/chats?limit=100", "chats", first],
    ["/v1/contacts?limit=100", "contacts", first],
    ["/v1/contacts?tag=only-mine-4711", "contacts", first],
    ["/v1/webhooks/deliveries?limit=100", "deliveries", first],
    ["/v1/payments/requests?limit=100", "requests", first],
    ["/v1/facetime/calls?limit=100", "calls", first],
    ["/v1/opt-outs?limit=100", "optOuts", first],
    ["/v1/admin/customers?limit=100", "customers", admin],
    ["/v1/admin/keys?limit=100", "keys", admin],
    ["/v1/admin/instances?limit=100", "instances", admin],
  ];
  for (const [path, name, asks] of lists) {
    const { status, data, error } = await asks("GET", path);
    assert.equal(status, 200, `${path}: ${JSON.stringify(error)}`);
    assert.ok(data[name].length > 0, `${path} lists the others`);
    const shown: string[] = JSON.stringify(data).match(/[a-z]+_00000000-0000-7000[^"]+/g) ?? [];
    // The delivery whose event is gone can be read, and cannot be sent.
    const strange = shown.filter((id) => !id.endsWith(`${10 + GONE}`));
    assert.deepEqual(strange, [], `${path} leaves them out`);
  }
}
