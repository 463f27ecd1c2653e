/** Downloads in memory: unsent bytes count, for the customer of the file. */

import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { Writable } from "node:stream";
import { test } from "node:test";
import { SimulatedClock } from "../../test/support/clock.ts";
import { until } from "../../test/support/wait.ts";
import { ApiError } from "../core/error.ts";
import type { CustomerId } from "../core/id.ts";
import { Downloads } from "./downloads.ts";
import { OpenResponses } from "./open-responses.ts";

const MIB = 1_048_576;

/** A client that reads a piece only on command. */
class Client extends Writable {
  readonly taken: Buffer[] = [];
  #take: (() => void) | null = null;

  setTimeout() {
    return this;
  }

  override _write(chunk: Buffer, _: string, done: () => void): void {
    this.#take = () => {
      this.taken.push(chunk);
      done();
    };
  }

  async take(): Promise<void> {
    const take = await until(() => this.#take, { what: "a piece" });
    this.#take = null;
    take();
  }

  get response(): ServerResponse {
    return this as unknown as ServerResponse;
  }
}

function refusalOf(downloads: Downloads, customerId: CustomerId, bytes: number): ApiError | null {
  try {
    downloads.acquire(customerId, bytes)();
    return null;
  } catch (error) {
    assert.ok(error instanceof ApiError);
    return error;
  }
}

test("one customer's downloads leave room for another customer's file of 100 MiB, and the 503 says whose files fill the memory", () => {
  const downloads = new Downloads(new SimulatedClock(), new OpenResponses());
  for (let count = 0; count < 16; count += 1) downloads.acquire("cust_1", 8 * MIB);
  const refusal = refusalOf(downloads, "cust_1", 8 * MIB);
  assert.deepEqual([refusal?.code, refusal?.retryAfterSeconds], ["SERVICE_UNAVAILABLE", 5]);
  assert.match(refusal?.message ?? "", /of this customer's files/);
  assert.equal(refusalOf(downloads, "cust_2", 100 * MIB), null);
});

test("a download counts only its unsent bytes against the memory, and arrives complete", async () => {
  const downloads = new Downloads(new SimulatedClock(), new OpenResponses());
  const bytes = Buffer.alloc(3 * MIB + 5);
  for (let index = 0; index < bytes.length; index += 1_000) bytes[index] = index % 251;
  const client = new Client();
  downloads.send(bytes, downloads.acquire("cust_1", bytes.length), client.response);
  for (const left of [2 * MIB + 5, MIB + 5, 5, 0]) {
    await client.take();
    await until(() => downloads.usedBytes === left, { what: `${left} bytes left` });
  }
  await until(() => client.writableFinished, { what: "the end" });
  assert.ok(Buffer.concat(client.taken).equals(bytes));
});

test("a client that disconnects during a download frees the memory of the unsent bytes", async () => {
  const downloads = new Downloads(new SimulatedClock(), new OpenResponses());
  const client = new Client();
  downloads.send(Buffer.alloc(4 * MIB), downloads.acquire("cust_1", 4 * MIB), client.response);
  await client.take();
  client.destroy();
  await until(() => downloads.usedBytes === 0, { what: "everything given back" });
});
