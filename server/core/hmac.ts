/** HMAC-SHA256 (RFC 2104) with a prepared key: a signature is two one-shot hashes, without an object of OpenSSL for each. Pure. */

import { hash } from "node:crypto";

const BLOCK_BYTES = 64;
const DIGEST_BYTES = 32;
const INNER_PAD = 0x36;
const OUTER_PAD = 0x5c;
/** UTF-8 needs at most this many bytes for a unit of UTF-16. */
const UNIT_BYTES_MAX = 3;

/** The input of the inner hash; longer texts get a buffer of their own. */
const SCRATCH = Buffer.alloc(65_536);

/** A key. The empty key is refused: it must not sign. */
export class HmacKey {
  readonly #inner = Buffer.alloc(BLOCK_BYTES, INNER_PAD);
  /** The outer block, and room for the inner digest. */
  readonly #outer = Buffer.alloc(BLOCK_BYTES + DIGEST_BYTES, OUTER_PAD);

  constructor(key: string | Buffer) {
    const given = Buffer.from(key);
    if (given.length === 0) throw new Error("an empty key cannot sign");
    const bytes = given.length > BLOCK_BYTES ? hash("sha256", given, "buffer") : given;
    for (const [index, byte] of bytes.entries()) {
      this.#inner[index] = byte ^ INNER_PAD;
      this.#outer[index] = byte ^ OUTER_PAD;
    }
  }

  /** The signature of `prefix` and `body`, both as UTF-8. */
  sign(prefix: string, body: string | Buffer, encoding: "hex" | "base64"): string {
    const bytesMax = BLOCK_BYTES + (prefix.length + body.length) * UNIT_BYTES_MAX;
    const input = bytesMax <= SCRATCH.length ? SCRATCH : Buffer.allocUnsafe(bytesMax);
    this.#inner.copy(input);
    const bodyAt = BLOCK_BYTES + input.write(prefix, BLOCK_BYTES);
    const end = bodyAt + (typeof body === "string" ? input.write(body, bodyAt) : body.copy(input, bodyAt));
    hash("sha256", input.subarray(0, end), "buffer").copy(this.#outer, BLOCK_BYTES);
    return hash("sha256", this.#outer, encoding);
  }
}
