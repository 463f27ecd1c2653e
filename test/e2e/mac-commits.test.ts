/** The transactions that one message by a Mac costs, from its acceptance to its last receipt. */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Store, Transaction } from "../../server/store/store.ts";
import { stageMacService } from "../support/mac-stage.ts";

const ANNA = "+15005551001";
const BEN = "+15005551002";
const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

/** Memory of the instance that belongs to no message: a cursor, the count of new conversations, and the time of the last event. */
const POLLER_STATE = ["catch-up", "new-chats", "last-event"];

/** Records the transactions of a store while `isOn`, as `operation table` of each of their operations. */
class TransactionLog {
  isOn = false;
  readonly #transactions: string[] = [];

  watch(store: Store): void {
    for (const name of ["commit", "commitGathered"] as const) {
      const commit = store[name].bind(store);
      store[name] = (transaction) => {
        if (this.isOn) this.#transactions.push(namesOf(transaction));
        return commit(transaction);
      };
    }
  }

  /** Returns the transactions of messages, their attempts and the provider's memory of them. */
  take(): string[] {
    const isOfMessage = (name: string) => /messages|sendAttempts|memory/.test(name);
    return this.#transactions.splice(0).filter(isOfMessage);
  }
}

function namesOf(transaction: Transaction): string {
  const names = transaction.map((operation) => {
    if (operation.op === "event" || !("table" in operation)) return operation.op;
    if (operation.table !== "memory") return `${operation.op} ${operation.table}`;
    const { key } = (operation.op === "delete" ? operation.where : "record" in operation ? operation.record : {}) as {
      key?: string;
    };
    return POLLER_STATE.some((state) => key?.startsWith(state)) ? "state" : `${operation.op} memory ${key}`;
  });
  return names.join(", ");
}

async function stageOf(t: TestContext) {
  const log = new TransactionLog();
  const stage = await stageMacService(t, { ingest: "socket", habit: "delivers", onStore: (store) => log.watch(store) });
  log.isOn = true;
  /** Sends a message and returns its transactions. */
  const transactionsOf = async (to: string, more: Record<string, unknown> = {}) => {
    await stage.idle();
    log.take();
    await stage.reached(await stage.send(to, more), "delivered");
    await stage.idle();
    return log.take();
  };
  return { stage, transactionsOf };
}

const ACCEPTED = "require chats, insert messages, event";
const BEGUN = "update messages";
const NOTED = "update messages, put sendAttempts";
const DELIVERED = "update messages, event, set sendAttempts";

test("a message by a Mac costs five transactions: its note is the only one that other providers do not need", async (t) => {
  const { stage, transactionsOf } = await stageOf(t);
  stage.mac.knows(ANNA);
  await transactionsOf(ANNA);
  assert.deepEqual(await transactionsOf(ANNA), [
    ACCEPTED,
    BEGUN,
    NOTED,
    "update messages, event, delete sendAttempts, put sendAttempts",
    DELIVERED,
  ]);
});

test("files that begin a conversation cost a note for each of the two requests, and one between them", async (t) => {
  const { transactionsOf } = await stageOf(t);
  const attachments = [{ type: "base64", data: PNG.toString("base64"), filename: "dot.png" }];
  const [, ...transactions] = await transactionsOf(BEN, { attachments });
  const sent = "update messages, event, put sendAttempts, delete sendAttempts, put sendAttempts";
  // The receipts of the text and of the files follow.
  assert.deepEqual(transactions.slice(0, 5), [BEGUN, NOTED, NOTED, NOTED, sent]);
});
