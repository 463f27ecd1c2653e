/** Attachments over HTTP: stored, reported, downloaded without a key, and deleted. */

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { after, before, type TestContext, test } from "node:test";
import { startTestService, type TestService } from "../support/service.ts";
import { until } from "../support/wait.ts";

let api: TestService;

before(async () => {
  api = await startTestService({ TB_FETCH_ALLOW: "loopback" });
});
after(() => api.stop());

const PNG = Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "latin1"), Buffer.alloc(500, 7)]);
const TEXT = Buffer.from("Hello, Jürgen");
const base64 = (bytes: Buffer, more = {}) => ({ type: "base64", data: bytes.toString("base64"), ...more });

async function send(attachments: unknown[], more = {}) {
  return api.ask("POST", "/v1/messages", { body: { to: "+15005550100", attachments, ...more } });
}

async function sent(attachments: unknown[], more = {}) {
  const { status, data, error } = await send(attachments, more);
  assert.equal(status, 202, JSON.stringify(error));
  return data.id as string;
}

async function record(id: string) {
  return (await api.ask("GET", `/v1/messages/${id}`)).data;
}

async function ended(id: string, status: string) {
  return until(async () => ((await record(id)).status === status ? record(id) : null), { what: status });
}

/** Files by path, on loopback. */
async function files(t: TestContext, served: Record<string, Buffer | number>): Promise<string> {
  const server = createServer((request, response) => {
    const found = served[request.url ?? ""] ?? 404;
    if (typeof found === "number") response.writeHead(found).end();
    else response.end(found);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test("a file sent as base64 is in the event as a link that downloads it without a key", async () => {
  const id = await sent([base64(PNG, { filename: 'été "1".png' }), base64(TEXT)]);
  const message = await record(id);
  const [image, plain] = message.attachments;
  assert.deepEqual(
    [image.mimeType, image.filename, image.totalBytes, plain.mimeType, plain.filename, plain.totalBytes],
    ["image/png", 'été "1".png', PNG.length, "text/plain", null, TEXT.length],
  );
  assert.deepEqual(Object.keys(image), ["guid", "mimeType", "filename", "totalBytes", "downloadUrl"]);
  assert.match(image.guid, /^att_/);
  assert.ok(image.downloadUrl.startsWith(`${api.url}/v1/attachments/`));
  const { data: events } = await api.ask("GET", `/v1/events?messageId=${id}&type=message.queued`);
  assert.deepEqual(events.events[0].data.attachments, message.attachments);

  const answer = await fetch(image.downloadUrl);
  assert.equal(answer.status, 200);
  assert.ok(Buffer.from(await answer.arrayBuffer()).equals(PNG));
  const { headers } = answer;
  assert.deepEqual(
    [
      headers.get("content-type"),
      headers.get("content-length"),
      headers.get("x-content-type-options"),
      headers.get("cache-control"),
    ],
    ["image/png", String(PNG.length), "nosniff", "private"],
  );
  assert.equal(
    headers.get("content-disposition"),
    `attachment; filename="_t_ _1_.png"; filename*=UTF-8''%C3%A9t%C3%A9%20%221%22.png`,
  );
  assert.match(headers.get("content-security-policy") ?? "", /^sandbox/);
  assert.match(headers.get("x-request-id") ?? "", /^req_/);
  assert.equal(headers.get("x-ratelimit-limit"), null);
  const other = await fetch(plain.downloadUrl);
  assert.equal(other.headers.get("content-type"), "text/plain; charset=utf-8");
  assert.match(other.headers.get("content-disposition") ?? "", /filename="attachment-1.txt"/);
  assert.equal(await other.text(), "Hello, Jürgen");
});

test("a download supports HEAD and ranges; an invalid or unsatisfiable range returns the whole file", async () => {
  const [{ downloadUrl }] = (await record(await sent([base64(PNG)]))).attachments;
  const head = await fetch(downloadUrl, { method: "HEAD" });
  assert.deepEqual([head.status, head.headers.get("content-length")], [200, String(PNG.length)]);
  const last = PNG.length - 1;
  const parts: [string, number, number][] = [
    ["bytes=0-9", 0, 9],
    ["bytes=10-", 10, last],
    ["bytes=-5", last - 4, last],
    ["bytes=500-99999", 500, last],
    ["bytes=-99999", 0, last],
  ];
  for (const [range, first, to] of parts) {
    const answer = await fetch(downloadUrl, { headers: { range } });
    assert.equal(answer.status, 206, range);
    assert.equal(answer.headers.get("content-range"), `bytes ${first}-${to}/${PNG.length}`);
    assert.ok(Buffer.from(await answer.arrayBuffer()).equals(PNG.subarray(first, to + 1)), range);
  }
  for (const range of ["bytes=99999-", "bytes=9-5", "bytes=-0", "bytes=-", "bytes=0-1,3-4", "items=0-1", "x"]) {
    const answer = await fetch(downloadUrl, { headers: { range } });
    assert.deepEqual([answer.status, (await answer.arrayBuffer()).byteLength], [200, PNG.length], range);
  }
});

test("a bad, forged or unknown token is a 404 in the envelope", async () => {
  const [{ downloadUrl }] = (await record(await sent([base64(PNG)]))).attachments;
  const token = new URL(downloadUrl).pathname.split("/").at(-1) ?? "";
  const forged = token.slice(0, -1) + (token.endsWith("A") ? "B" : "A");
  for (const bad of ["x", forged, `${token}x`, token.slice(1), "a".repeat(51), "%00", "..%2f..%2fetc%2fpasswd"]) {
    const { status, error } = await api.ask("GET", `/v1/attachments/${bad}`, { key: null });
    assert.deepEqual([status, error?.code], [404, "NOT_FOUND"], bad);
  }
  const ignored = await fetch(downloadUrl, { headers: { authorization: "Bearer nonsense" } });
  assert.equal(ignored.status, 200);
  const posted = await api.ask("POST", `/v1/attachments/${token}`);
  assert.deepEqual([posted.status, posted.headers.get("allow")], [405, "GET, HEAD"]);
});

test("an invalid attachment is a 400 that names every field: base64, type, address, size", async () => {
  const { status, error } = await send([
    { type: "base64", data: "not base64!" },
    { type: "base64", data: `data:image/png;base64,${PNG.toString("base64")}` },
    { type: "base64", data: TEXT.toString("base64").replace(/=+$/, "") },
    { type: "base64", data: "" },
    { type: "base64" },
    { type: "base64", data: TEXT.toString("base64"), url: "https://example.com/x" },
    base64(PNG, { mimeType: "image/jpeg" }),
    base64(Buffer.from("<html><script>"), { mimeType: "text/plain" }),
    base64(PNG, { isAudioMessage: true }),
    { type: "url" },
    { type: "url", url: "https://10.0.0.1/x.png" },
    { type: "url", url: "http://example.com/x.png" },
    { type: "url", url: "https://user:pass@example.com/x.png" },
    { type: "url", url: "https://example.com/x.html", mimeType: "text/html" },
    { type: "url", url: "https://example.com/x.png", data: "AA==" },
  ]);
  assert.deepEqual([status, error?.code], [400, "VALIDATION_ERROR"]);
  assert.deepEqual(
    error?.details?.map(({ path }) => path),
    [
      "attachments[0].data",
      "attachments[1].data",
      "attachments[2].data",
      "attachments[3].data",
      "attachments[4].data",
      "attachments[5].url",
      "attachments[6].mimeType",
      "attachments[7].data",
      "attachments[8].isAudioMessage",
      "attachments[9].url",
      "attachments[10].url",
      "attachments[11].url",
      "attachments[12].url",
      "attachments[13].mimeType",
      "attachments[14].data",
    ],
  );
  const said = (index: number) => error?.details?.[index]?.message ?? "";
  assert.match(said(1), /leave out what stands before the comma/);
  assert.equal(said(6), "is image/jpeg, but the file is image/png; correct it or leave it out");
  assert.match(said(7), /^is text\/html, which cannot be sent/);
  assert.match(said(10), /TB_FETCH_ALLOW/);
  const large = await send([base64(Buffer.alloc(8_000_000, 97))]);
  assert.deepEqual([large.status, large.error?.code], [413, "PAYLOAD_TOO_LARGE"]);
});

test("media and files are fetched before the send attempt and sent, and a file that cannot be fetched fails the message", async (t) => {
  const url = await files(t, { "/a.png": PNG, "/b.png": PNG, "/c.txt": TEXT, "/moved": 302 });
  const mediaUrls = [`${url}/a.png`, `${url}/b.png`];
  const good = await sent([{ type: "url", url: `${url}/c.txt` }, base64(PNG)], { content: { mediaUrls } });
  const message = await ended(good, "delivered");
  assert.equal(message?.attachments[0].downloadUrl, null);
  const cases: [string, RegExp][] = [
    [`${url}/none.png`, /^content\.mediaUrls\[1\]: \S+\/none\.png responds with 404\.$/],
    [`${url}/moved`, /responds with 302; redirects are not followed/],
    [`${url}/c.txt`, /is no image: by its content it is text\/plain/],
  ];
  for (const [bad, words] of cases) {
    const id = await sent([], { content: { mediaUrls: [`${url}/a.png`, bad] }, attachments: undefined });
    const failed = await ended(id, "failed");
    assert.deepEqual([failed?.errorCode, failed?.fallbackTriggered], ["REJECTED", false]);
    assert.match(failed?.errorMessage ?? "", words);
  }
  const lying = await sent([{ type: "url", url: `${url}/a.png`, mimeType: "application/pdf" }]);
  assert.match((await ended(lying, "failed"))?.errorMessage ?? "", /is application\/pdf, but the file is image\/png/);
});

test("a contact's file has a link in the record and in the event", async () => {
  const body = { text: "look", attachments: [base64(PNG, { filename: "a.png" })] };
  const { status, data } = await api.ask("POST", "/v1/sandbox/phones/+15005550199/messages", { body });
  assert.ok(status < 300, JSON.stringify(data));
  const [attachment] = data.attachments;
  assert.deepEqual([attachment.mimeType, attachment.filename], ["image/png", "a.png"]);
  assert.ok(Buffer.from(await (await fetch(attachment.downloadUrl)).arrayBuffer()).equals(PNG));
  const { data: events } = await api.ask("GET", `/v1/events?messageId=${data.id}&type=message.inbound`);
  assert.deepEqual(events.events[0].data.attachments, data.attachments);
});

test("deleting a message deletes its files: their links are 404", async () => {
  const id = await sent([base64(PNG)]);
  const { attachments } = (await ended(id, "delivered")) ?? {};
  const { downloadUrl } = attachments[0];
  assert.equal((await fetch(downloadUrl)).status, 200);
  assert.equal((await api.ask("DELETE", `/v1/messages/${id}`)).status, 200);
  assert.equal((await fetch(downloadUrl)).status, 404);
});

test("links still work after a restart", async () => {
  const [{ downloadUrl }] = (await record(await sent([base64(PNG)]))).attachments;
  await api.restart();
  const path = new URL(downloadUrl).pathname;
  assert.equal((await fetch(api.url + path)).status, 200);
});

test("a download in progress finishes before the service stops", async (t) => {
  const big = Buffer.from("x".repeat(7_000_000));
  const [{ downloadUrl }] = (await record(await sent([base64(big)]))).attachments;
  const { port, pathname } = new URL(downloadUrl);
  const socket = connect(Number(port), "127.0.0.1");
  t.after(() => socket.destroy());
  let got = 0;
  socket.on("error", () => {});
  socket.on("data", (chunk: Buffer) => {
    // Reads the first part, and the rest only while the service stops.
    if (got === 0) socket.pause();
    got += chunk.length;
  });
  socket.write(`GET ${pathname} HTTP/1.1\r\nHost: x\r\n\r\n`);
  await until(() => got > 0, { what: "its beginning" });
  const restarted = api.restart();
  await until(
    () =>
      fetch(`${api.url}/healthz`).then(
        () => false,
        () => true,
      ),
    { what: "a service that takes no more connections" },
  );
  socket.resume();
  await restarted;
  // The service has sent all of it, and this process may have read a part.
  await until(() => got > big.length, { what: `the rest after ${got} bytes` });
});
