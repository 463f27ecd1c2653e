/** Reads the stream of `GET /v1/wire`, for tests. */

import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import type { TestService } from "./service.ts";

// biome-ignore lint/suspicious/noExplicitAny: tests read items field by field, and fail on what is not there.
type Item = any;

/** An open stream, and the items that came. */
export interface WireReader {
  all(name: string): Item[];
  /** The first item of a kind that matches, waiting for it. */
  until(name: string, matches: (item: Item) => boolean): Promise<Item>;
  close(): void;
}

const WAIT_MS_MAX = 60_000;

/** Opens the stream; it is closed when the test ends. */
export async function readWire(
  t: TestContext,
  service: TestService,
  query = "",
  lastEventId?: string,
  key = service.key,
): Promise<WireReader> {
  const stop = new AbortController();
  t.after(() => stop.abort());
  const response = await fetch(`${service.url}/v1/wire${query}`, {
    headers: { authorization: `Bearer ${key}`, ...(lastEventId === undefined ? {} : { "last-event-id": lastEventId }) },
    signal: stop.signal,
  });
  assert.equal(response.status, 200);
  const items: { name: string; data: Item }[] = [];
  let wake = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<void>();
  const read = async () => {
    let rest = "";
    for await (const chunk of (response.body ?? assert.fail("no body")).pipeThrough(new TextDecoderStream())) {
      opened.resolve();
      const frames = (rest + chunk).split("\n\n");
      rest = frames.pop() ?? "";
      for (const frame of frames) {
        const [, name = "", data = ""] = /event: (\w+)\ndata: (.*)$/s.exec(frame) ?? [];
        if (name !== "") items.push({ name, data: JSON.parse(data) });
      }
      wake.resolve();
      wake = Promise.withResolvers();
    }
  };
  void read().catch(() => {});
  await opened.promise;
  const all = (name: string) => items.filter((item) => item.name === name).map(({ data }) => data);
  return {
    all,
    close: () => stop.abort(),
    async until(name, matches) {
      const limit = AbortSignal.timeout(WAIT_MS_MAX);
      const over = new Promise<void>((resolve) => limit.addEventListener("abort", () => resolve()));
      for (;;) {
        const found = all(name).find(matches);
        if (found !== undefined) return found;
        assert.ok(!limit.aborted, `no ${name} came; there are ${items.map((item) => item.name).join(", ")}`);
        await Promise.race([wake.promise, over]);
      }
    },
  };
}
