/** Files that the sandbox's phones send: bounded together, and counted while they are in memory. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { openContext } from "../../../test/support/sending.ts";
import { STAYS } from "../../../test/support/stays.ts";
import { FILE_BYTES_MAX } from "../../core/attachment.ts";
import type { FetchOptions } from "../../outgoing/fetch.ts";
import type { EngineDeps } from "../engine-deps.ts";
import { withPhoneFiles } from "./phone-files.ts";

const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);
const inputs = [1, 2, 3].map((name) => ({ type: "url", url: `https://files.example/${name}.png` }) as const);

test("files of a sandbox phone share 100 MiB, and are held until they are sent", async (t) => {
  const { deps, customer } = await openContext(t);
  const owner = { customerId: customer.id, gone: STAYS };
  const limits: number[] = [];
  let held = 0;
  const release = () => {
    held -= PNG.length;
  };
  const fetcher = {
    async fetch(_url: string, { bytesMax }: FetchOptions) {
      limits.push(bytesMax);
      held += PNG.length;
      return { bytes: PNG, release };
    },
    hold: () => release,
  };
  const fetching: EngineDeps = { ...deps, fetcher };
  const sent = await withPhoneFiles(fetching, owner, inputs, async (files) => [files.length, held]);
  assert.deepEqual(sent, [3, 3 * PNG.length]);
  assert.deepEqual(limits, [FILE_BYTES_MAX, FILE_BYTES_MAX - PNG.length, FILE_BYTES_MAX - 2 * PNG.length]);
  assert.equal(held, 0);
  await assert.rejects(withPhoneFiles(fetching, owner, inputs, () => Promise.reject(new Error("not taken in"))));
  assert.equal(held, 0);
});

test("files of a sandbox phone are fetched only while the client waits", async (t) => {
  const { deps, customer } = await openContext(t);
  const client = new AbortController();
  const left = new Error("the client has gone");
  const asked: string[] = [];
  let held = 0;
  const release = () => {
    held -= 1;
  };
  const fetcher = {
    async fetch(url: string, { abort }: FetchOptions) {
      asked.push(url);
      client.abort(left);
      if (abort.aborted && asked.length > 1) return { deferred: "was not fetched: it was called off" };
      held += 1;
      return { bytes: PNG, release };
    },
    hold: () => () => {},
  };
  const owner = { customerId: customer.id, gone: client.signal };
  const sending = withPhoneFiles({ ...deps, fetcher }, owner, inputs, async () => assert.fail("nothing is sent"));
  await assert.rejects(sending, left);
  assert.deepEqual([asked.length, held], [1, 0]);
});
