/** Pages in compressed form: made once for each encoding, so that a request costs nothing but its bytes. */

import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";

/** Content codings (RFC 9110, 8.4.1), in order of preference where a client takes several alike. */
const ENCODINGS = ["br", "gzip"] as const;

/** A content coding that pages are compressed in. */
export type Encoding = (typeof ENCODINGS)[number];

/** The coding to answer in, by `Accept-Encoding`; null: none, as it is. */
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

/** Brotli's second-best effort: of a page of 500 KB it takes some 50 ms, once, outside of the main thread. */
const BROTLI_QUALITY = 9;

const COMPRESS: Readonly<Record<Encoding, (body: Buffer) => Promise<Buffer>>> = {
  br: (body) => promisify(brotliCompress)(body, { params: { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY } }),
  gzip: (body) => promisify(gzip)(body, { level: constants.Z_BEST_COMPRESSION }),
};

/** One body in all its forms. */
export class EncodedBody {
  readonly #plain: Buffer;
  readonly #made = new Map<Encoding, Promise<Buffer>>();

  constructor(plain: Buffer) {
    this.#plain = plain;
  }

  /** The body in a coding, compressed when it is first asked for; null: as it is. */
  in(encoding: Encoding | null): Buffer | Promise<Buffer> {
    if (encoding === null) return this.#plain;
    const made = this.#made.get(encoding) ?? COMPRESS[encoding](this.#plain);
    this.#made.set(encoding, made);
    return made;
  }
}
