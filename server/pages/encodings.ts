/**
 * Compresses pages once for each encoding and keeps the result. `@fastify/compress` compresses anew for every request: for
 * `/docs`, which anybody may ask for, 8 ms of CPU instead of 0.8, and without a Content-Length.
 */

import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import type { Encoding } from "../api/pipeline/encoding.ts";

/** The quality of Brotli: a page of 500 KB takes some 50 ms, once, outside the main thread. */
const BROTLI_QUALITY = 9;

const COMPRESS: Readonly<Record<Encoding, (body: Buffer) => Promise<Buffer>>> = {
  br: (body) => promisify(brotliCompress)(body, { params: { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY } }),
  gzip: (body) => promisify(gzip)(body, { level: constants.Z_BEST_COMPRESSION }),
};

/** One body in all codings. */
export class EncodedBody {
  readonly #plain: Buffer;
  readonly #made = new Map<Encoding, Promise<Buffer>>();

  constructor(plain: Buffer) {
    this.#plain = plain;
  }

  /** The body in a coding, compressed on the first request; null: uncompressed. */
  in(encoding: Encoding | null): Buffer | Promise<Buffer> {
    if (encoding === null) return this.#plain;
    const made = this.#made.get(encoding) ?? COMPRESS[encoding](this.#plain);
    this.#made.set(encoding, made);
    return made;
  }
}
