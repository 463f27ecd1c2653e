/** Work in pages goes on to its end, and the response waits for a bounded part of it, and only while the client does. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "../../test/support/wait.ts";
import { inPages } from "./in-pages.ts";

/** Pages that a test lets go on one by one. */
class Pages {
  readonly client = new AbortController();
  readonly faults: unknown[] = [];
  readonly #ends: ((isLast: boolean | Error) => void)[] = [];
  begun = 0;
  isAnswered = false;

  run(pagesMax: number): void {
    const page = () => {
      this.begun += 1;
      return new Promise<boolean>((resolve, reject) => {
        this.#ends.push((end) => (end instanceof Error ? reject(end) : resolve(end)));
      });
    };
    const { signal: gone } = this.client;
    void inPages(page, { pagesMax, gone, fault: (error) => this.faults.push(error) }).then(() => {
      this.isAnswered = true;
    });
  }

  /** Ends the page that runs, and resolves when what follows has begun. */
  async end(how: boolean | Error): Promise<void> {
    this.#ends.shift()?.(how);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

test("the response comes after the last page, if there are few", async () => {
  const pages = new Pages();
  pages.run(10);
  await pages.end(false);
  assert.equal(pages.isAnswered, false);
  await pages.end(true);
  assert.deepEqual([pages.isAnswered, pages.begun], [true, 2]);
});

test("the response waits for some of many pages, and the others follow", async () => {
  const pages = new Pages();
  pages.run(2);
  await pages.end(false);
  await pages.end(false);
  assert.deepEqual([pages.isAnswered, pages.begun], [true, 3]);
  await pages.end(false);
  await pages.end(true);
  assert.equal(pages.begun, 4);
});

test("once the client has gone, the response waits for no further page, and all of them follow", async () => {
  const pages = new Pages();
  pages.run(10);
  pages.client.abort();
  await pages.end(false);
  await until(() => pages.isAnswered);
  await pages.end(true);
  assert.equal(pages.begun, 2);
});

test("a page that throws ends the work, before the response and after it", async () => {
  const error = new Error("the database is closed");
  for (const pagesMax of [2, 1]) {
    const pages = new Pages();
    pages.run(pagesMax);
    await pages.end(false);
    await pages.end(error);
    assert.deepEqual([pages.isAnswered, pages.begun, pages.faults], [true, 2, [error]]);
  }
});
