/** The form of a page follows Accept-Encoding, and is compressed once. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { encodingFor } from "../api/pipeline/encoding.ts";
import { EncodedBody } from "./encodings.ts";

test("RFC 9110, 12.5.3: the coding is the one that the client prefers, and Brotli among equals", () => {
  const rows: [string | undefined, string | null][] = [
    [undefined, null],
    ["", null],
    ["identity", null],
    ["gzip", "gzip"],
    ["gzip, deflate", "gzip"],
    ["gzip, deflate, br, zstd", "br"],
    ["br;q=0.5, gzip;q=0.8", "gzip"],
    ["br;q=0, gzip", "gzip"],
    ["gzip;q=0", null],
    ["gzip;q=0.0, br;q=nonsense", null],
    ["*", "br"],
    ["*;q=0", null],
    ["br;q=0, *", "gzip"],
    ["identity, gzip;q=0.5", null],
    ["GZIP ; Q=1", "gzip"],
    ["deflate, zstd", null],
  ];
  for (const [accepted, encoding] of rows) assert.equal(encodingFor(accepted), encoding, `${accepted}`);
});

test("a page is compressed once for each coding, however many ask for it at once", async () => {
  const plain = Buffer.from("tightbeam ".repeat(1_000));
  const body = new EncodedBody(plain);
  assert.equal(body.in(null), plain);
  const [first, second] = [body.in("br"), body.in("br")];
  assert.equal(first, second);
  assert.ok(brotliDecompressSync(await first).equals(plain));
  assert.ok(gunzipSync(await body.in("gzip")).equals(plain));
});
