/**
 * Compresses pages once for each encoding and keeps the result. `@fastify/compress` compresses anew for every request: for
 * `/docs`, which anybody may ask for, 8 ms of CPU instead of 0.8, and without a Content-Length.
 */

import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";

/** Content codings (RFC 9110, 8.4.1), the preferred first if a client accepts both alike. */
const ENCODINGS = ["br", "gzip"] as const;

/** A content coding of pages. */
export type Encoding = (typeof ENCODINGS)[number];

/** The coding of the response by `Accept-Encoding`; null: uncompressed. */
export function encodingFor(accepted: string | string[] | undefined): Encoding | null {
  const qualities = new Map<string, number>();
  for (const item of [accepted ?? ""].flat().join(",").toLowerCase().split(",")) {
    const [name = "", ...parameters] = item.split(";").map((part) => part.trim());
    const quality = parameters.find((parameter) => parameter.startsWith("q="))?.slice(2);
    qualities.set(name, quality === undefined ? 1 : Number(quality) || 0);
  }
  const qualityOf = (name: string) => qualities.get(name) ?? qualities.get("*") ?? 0;
  const plain = qualities.get("identity") ?? 0;
  const [best] = ENCODINGS.filter((name) => qualityOf(name) > 0).sort((a, b) => qualityOf(b) - qualityOf(a));
  return best === undefined || qualityOf(best) < plain ? null : best;
}

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
