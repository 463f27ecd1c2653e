/** The console's files: which addresses lead to its page, how long its files may be kept, and what its pages may load. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { once } from "node:events";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { brotliCompressSync, gzipSync } from "node:zlib";
import fastify, { type FastifyInstance } from "fastify";
import { addConsole, CONSOLE_PATHS } from "./console.ts";

const PAGE = "<!doctype html><title>Console</title>";
const SCRIPT = "console.log(1);".repeat(200);

/** Serves the console of a package; without files if `isBuilt` is false. */
async function serve(t: TestContext, isBuilt = true): Promise<{ app: FastifyInstance; root: string; build(): void }> {
  const root = mkdtempSync(join(tmpdir(), "tightbeam-console-"));
  const directory = join(root, "dist/console");
  const build = () => {
    mkdirSync(join(directory, "assets"), { recursive: true });
    writeFileSync(join(root, "secret.json"), "classified");
    writeFileSync(join(directory, ".built-from"), "classified");
    writeFileSync(join(directory, "assets/.hidden.js"), "classified");
    writeFileSync(join(directory, "index.html"), PAGE);
    writeFileSync(join(directory, "assets/index-a1B2.js"), SCRIPT);
    writeFileSync(join(directory, "assets/index-a1B2.js.br"), brotliCompressSync(SCRIPT));
    writeFileSync(join(directory, "assets/index-a1B2.js.gz"), gzipSync(SCRIPT));
  };
  if (isBuilt) build();
  const app = fastify();
  addConsole(app, root);
  t.after(async () => {
    await app.close();
    rmSync(root, { recursive: true });
  });
  return { app, root, build };
}

/** Whether an open file of this process is below a directory. */
function isUnder(directory: string, fd: string): boolean {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`).startsWith(directory);
  } catch {
    return false;
  }
}

test("every address of the console leads to its page, which browsers ask for anew each time", async (t) => {
  const { app } = await serve(t);
  for (const path of CONSOLE_PATHS) {
    const url = path.replace(":id", "msg_1").replace(":number", "+15005550100").replace("*", "a/b");
    const { statusCode, body, headers } = await app.inject(url);
    assert.deepEqual([statusCode, body, headers["cache-control"]], [200, PAGE, "no-cache"], url);
    assert.equal(headers["content-type"], "text/html; charset=utf-8", url);
    const again = await app.inject({ url, headers: { "if-none-match": String(headers.etag) } });
    assert.equal(again.statusCode, 304, url);
  }
  assert.equal((await app.inject("/elsewhere")).statusCode, 404);
});

test("the service knows every address that the console has", () => {
  const screens = readFileSync("console/pages/screens.ts", "utf8");
  const paths = [...screens.matchAll(/paths?: (\[[^\]]*\]|"[^"]*")/g)].flatMap(([, list = ""]) =>
    [...list.matchAll(/"([^"]+)"/g)].map(([, path = ""]) => path),
  );
  assert.ok(paths.includes("/messages"), "the paths are found");
  const known = CONSOLE_PATHS.map((path) => new RegExp(`^${path.replace(/:\w+/, ":\\w+").replace("*", ".+")}$`));
  const unknown = paths.filter((path) => !path.startsWith("/docs") && !known.some((one) => one.test(path)));
  assert.deepEqual(unknown, [], "add them to CONSOLE_PATHS in server/pages/console.ts");
});

test("files with a hash in their name are kept for ever, and sent compressed", async (t) => {
  const { app } = await serve(t);
  const url = "/assets/index-a1B2.js";
  for (const [accepted, encoding] of [
    ["br, gzip", "br"],
    ["gzip", "gzip"],
    ["identity", undefined],
  ] as const) {
    const { statusCode, headers } = await app.inject({ url, headers: { "accept-encoding": accepted } });
    assert.equal(statusCode, 200);
    assert.equal(headers["content-encoding"], encoding, accepted);
    assert.equal(headers["cache-control"], "public, max-age=31536000, immutable");
    assert.match(String(headers["content-type"]), /^(text|application)\/javascript; charset=utf-8$/);
    assert.equal(headers.vary, "Accept-Encoding");
    const again = await app.inject({
      url,
      headers: { "accept-encoding": accepted, "if-none-match": String(headers.etag) },
    });
    assert.deepEqual([again.statusCode, again.body], [304, ""]);
  }
});

test("a file is sent as it was built last", async (t) => {
  const { app, root } = await serve(t);
  assert.equal((await app.inject("/")).body, PAGE);
  writeFileSync(join(root, "dist/console/index.html"), "another build");
  utimesSync(join(root, "dist/console/index.html"), 1, 1);
  assert.equal((await app.inject("/")).body, "another build");
});

test("clients that read nothing hold no file open, however many files they ask for", async (t) => {
  const { app, root } = await serve(t);
  writeFileSync(join(root, "dist/console/assets/large-a1B2.js"), "x".repeat(4 * 1_048_576));
  await app.listen({ host: "127.0.0.1", port: 0 });
  const { port } = app.server.address() as AddressInfo;
  const ask = "GET /assets/large-a1B2.js HTTP/1.1\r\nHost: localhost\r\n\r\n";
  const socket = connect(port, "127.0.0.1", () => socket.write(ask.repeat(20)));
  await once(socket.pause(), "readable");
  assert.equal((await app.inject("/")).statusCode, 200);
  const held = readdirSync("/proc/self/fd").filter((fd) => isUnder(root, fd));
  socket.destroy();
  assert.deepEqual(held, []);
});

test("nothing outside the built files is served", async (t) => {
  const { app } = await serve(t);
  for (const url of [
    "/.built-from",
    "/assets/.hidden.js",
    "/assets/../.built-from",
    "/assets/..%2F..%2F..%2Fsecret.json",
    "/assets/%2e%2e/%2e%2e/%2e%2e/secret.json",
    "/assets/..%5C..%5C..%5Csecret.json",
    "/assets//etc/passwd",
    "/assets/",
    "/assets/none.js",
    "/assets/index-a1B2.js.br",
    "/assets/index-a1B2.js%00.png",
  ]) {
    const { statusCode, body } = await app.inject(url);
    assert.equal(statusCode, 404, `${url}: ${body}`);
    assert.ok(!body.includes("classified"), url);
  }
});

test("a page of the console loads and runs nothing but files of the service, and nothing may frame it", async (t) => {
  const { app } = await serve(t);
  for (const url of ["/", "/m/msg_1", "/assets/index-a1B2.js"]) {
    const { headers } = await app.inject(url);
    const policy = String(headers["content-security-policy"]);
    assert.ok(!policy.includes("unsafe"), policy);
    for (const part of [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "connect-src 'self'",
      "base-uri 'none'",
      "form-action 'self'",
      "frame-ancestors 'none'",
    ])
      assert.ok(policy.split("; ").includes(part), part);
    assert.deepEqual(
      [headers["x-content-type-options"], headers["referrer-policy"], headers["cross-origin-opener-policy"]],
      ["nosniff", "same-origin", "same-origin"],
    );
  }
});

test("without a build the page says how to make one, and comes again by itself", async (t) => {
  const { app, build } = await serve(t, false);
  const { statusCode, body, headers } = await app.inject("/messages");
  assert.deepEqual([statusCode, headers.refresh, headers["retry-after"]], [503, "2", "2"]);
  assert.match(body, /npm run build/);
  // A sign-in link has a fragment, and the header alone loads no such address anew.
  const script = /<script>(.+)<\/script>/.exec(body)?.[1] ?? "";
  assert.match(script, /location\.reload\(\)/);
  const hash = createHash("sha256").update(script).digest("base64");
  assert.ok(String(headers["content-security-policy"]).includes(`script-src 'self' 'sha256-${hash}';`));
  build();
  assert.equal((await app.inject("/messages")).body, PAGE);
  assert.equal((await app.inject("/assets/index-a1B2.js")).body, SCRIPT);
});
