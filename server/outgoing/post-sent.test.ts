import assert from "node:assert/strict";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { freePort } from "../../test/support/free-port.ts";
import { parseAllowList } from "../core/address.ts";
import { Poster } from "./post.ts";

test("the result has the headers that the receiver got, also if it hung up; without a connection it has none", async (t) => {
  const received: IncomingHttpHeaders[] = [];
  const server = createServer((request, response) => {
    received.push(request.headers);
    if (received.length === 1) response.end("ok");
    else request.socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const poster = new Poster({ allow: parseAllowList("loopback"), userAgent: "Tightbeam/1.2.3" });
  t.after(async () => {
    await poster.close();
    server.close();
  });
  const post = (url: string) => poster.post({ url, body: "{}", headers: { "X-Timestamp": "1", "user-agent": "own" } });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
  const results = [await post(url), await post(url)];
  assert.deepEqual(
    results.map(({ error }) => error),
    [null, "CONNECTION_RESET"],
  );
  for (const [index, { sent }] of results.entries()) {
    const { host: _, connection: __, "content-length": ___, ...own } = received[index] ?? {};
    const names = (sent ?? []).filter((_, place) => place % 2 === 0);
    const shown = names.map((name, place) => [name.toLowerCase(), sent?.[2 * place + 1]]);
    assert.deepEqual(Object.fromEntries(shown), own);
  }
  for (const unreached of [`http://127.0.0.1:${await freePort()}/`, "http://10.0.0.1/", "ftp://a.example/"]) {
    const { sent, connected } = await post(unreached);
    assert.deepEqual([sent, connected], [undefined, false], unreached);
  }
});
