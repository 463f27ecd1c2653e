/** The cost of claims of messages in rows read, however many rows wait in front. Counts, not times. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { NOW, Stage } from "../../../test/conformance/store-stage.ts";
import type { Customer } from "../../core/customer.ts";
import type { Message } from "../../core/message.ts";
import type { Endpoint } from "../../core/webhook.ts";
import { type ClaimedMessageRows, encodeTransaction } from "../jobs/jobs.ts";
import { decodeRecord } from "../rows.ts";
import type { Operation, Store } from "../store.ts";
import { makeTables } from "./make-tables.ts";
import { SqliteWriter } from "./writer.ts";

/** The writer on an empty database with one customer and one endpoint. */
class Writer {
  readonly engine = new SqliteWriter(":memory:");
  /** Makes records only: it has no store. */
  readonly make = new Stage({} as Store);
  readonly customer: Customer = this.make.customer();
  readonly endpoint: Endpoint = this.make.endpoint(this.customer);

  static async open(): Promise<Writer> {
    const writer = new Writer();
    makeTables(writer.engine.database);
    writer.commit([
      { op: "insert", table: "customers", record: writer.customer },
      { op: "insert", table: "endpoints", record: writer.endpoint },
    ]);
    return writer;
  }

  commit(transaction: readonly Operation[]): void {
    const [result] = this.engine.run([["commit", encodeTransaction(transaction)]]);
    assert.deepEqual(result, { value: { result: "ok", lanes: [] } });
  }

  claimMessages(permits: number): Message[] {
    const lanes = [{ lane: this.make.instanceId, permits }];
    const [result] = this.engine.run([["claimMessages", { lanes, now: NOW, leaseMs: 45_000 }]]);
    assert.ok(result !== undefined && "value" in result);
    return (result.value as ClaimedMessageRows).rows.map(({ values }) => decodeRecord("messages", values));
  }

  addMessages(count: number, changes: (index: number) => Partial<Message>): void {
    const records = Array.from({ length: count }, (_, index) =>
      this.make.message(this.customer, { status: "queued", dueAt: NOW, ...changes(index) }),
    );
    this.commit(records.map((record) => ({ op: "insert", table: "messages", record })));
  }

  /** Rows looked at while `work` is done. */
  rowsRead(work: () => void): number {
    const before = this.engine.rowsRead;
    work();
    return this.engine.rowsRead - before;
  }
}

const BUSY = "+15005550100";

test("a claim behind a leased recipient reads a bounded number of rows, however many messages wait", async () => {
  const rows = async (waiting: number): Promise<number> => {
    const writer = await Writer.open();
    writer.addMessages(waiting, () => ({ to: BUSY }));
    assert.equal(writer.claimMessages(64).length, 8, "a run");
    return writer.rowsRead(() => assert.deepEqual(writer.claimMessages(64), []));
  };
  const [few, many] = [await rows(300), await rows(3_000)];
  assert.equal(many, few);
  assert.ok(many <= 200, `${many} rows`);
});

test("messages to other recipients are claimed at once, however many messages to one recipient precede them", async () => {
  const writer = await Writer.open();
  writer.addMessages(5_000, () => ({ to: BUSY, dueAt: NOW - 10 }));
  writer.addMessages(100, (index) => ({ to: `+1500556${String(index).padStart(4, "0")}` }));
  writer.addMessages(100, (index) => ({ to: `+1400556${String(index).padStart(4, "0")}`, from: "+15550000009" }));
  const claimed: Message[] = [];
  const looked = writer.rowsRead(() => claimed.push(...writer.claimMessages(64)));
  assert.equal(claimed.length, 64);
  assert.equal(claimed.filter(({ to }) => to === BUSY).length, 8);
  assert.ok(looked <= 400, `${looked} rows`);
  for (let claims = 0; claims < 3; claims += 1) claimed.push(...writer.claimMessages(64));
  assert.equal(claimed.length, 208, "one run of the busy recipient, and everything else");
});

test("claims behind a busy recipient read the pairs in turn, and skip none for good", async () => {
  const writer = await Writer.open();
  writer.addMessages(2_000, () => ({ to: BUSY, dueAt: NOW - 10 }));
  const pairs = 1_000;
  writer.addMessages(pairs * 2, (index) => ({ to: `+1500556${String(index % pairs).padStart(4, "0")}` }));
  const seen = new Set<string>();
  for (let claims = 0; claims < pairs / 4 + 5; claims += 1) {
    for (const { to } of writer.claimMessages(8)) seen.add(to);
  }
  assert.equal(seen.size, pairs + 1);
});
