import assert from "node:assert/strict";
import { type AddressInfo, createServer } from "node:net";
import { type TestContext, test } from "node:test";
import { parseAllowList } from "../core/address.ts";
import { Poster, type PostResult } from "./post.ts";

/** The result of a post to a receiver that responds with these bytes and closes the connection. */
async function answerOf(t: TestContext, bytes: string): Promise<PostResult> {
  const server = createServer((socket) => {
    socket.on("error", () => {}).once("data", () => socket.end(bytes));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const poster = new Poster({ allow: parseAllowList("loopback"), userAgent: "Tightbeam/1.2.3" });
  t.after(async () => {
    await poster.close();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return await poster.post({ url: `http://127.0.0.1:${port}/hook`, body: "{}", headers: {} });
}

test("Retry-After of a 429 or 503 is in the result as it came, also if the body is cut off; of another response it is not", async (t) => {
  const rows: [head: string, retryAfter: string[] | undefined][] = [
    ["429 Too Many Requests\r\nRetry-After: 120", ["120"]],
    ["503 Busy\r\nretry-after: 1.5", ["1.5"]],
    ["503 Busy\r\nRetry-After: -1", ["-1"]],
    ["503 Busy\r\nRetry-After: Monday, 30-Nov-26 05:01:00 GMT", ["Monday, 30-Nov-26 05:01:00 GMT"]],
    ["503 Busy\r\nRetry-After: 60\r\nRetry-After: 120", ["60", "120"]],
    ["503 Busy", undefined],
    ["500 Broken\r\nRetry-After: 120", undefined],
    ["200 OK\r\nRetry-After: 120", undefined],
    ["301 Moved\r\nRetry-After: 120", undefined],
  ];
  for (const [head, expected] of rows) {
    const { retryAfter, status } = await answerOf(t, `HTTP/1.1 ${head}\r\nContent-Length: 100\r\n\r\ncut off`);
    assert.deepEqual(retryAfter, expected, head);
    assert.equal(status, Number(head.slice(0, 3)));
  }
});
