/** Negotiates the content coding of a response (RFC 9110, 12.5.3), and compresses the responses of the pipeline. */

import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";

/** Content codings (RFC 9110, 8.4.1), the preferred first if a client accepts both alike. */
const ENCODINGS = ["br", "gzip"] as const;

/** A content coding of responses. */
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

/** Shortest body that is worth its compression, in bytes. */
const BYTES_MIN = 1_024;

/**
 * Whether a body may be compressed: it is long enough and holds no secret. The length of a compressed body that holds a secret beside what
 * somebody else wrote tells of the secret (BREACH).
 */
export function isCompressible(body: string): boolean {
  return Buffer.byteLength(body) >= BYTES_MIN && !SECRET_FIELDS.some((field) => body.includes(field));
}

/** As the answers name the fields of secrets; in a text the quotes are escaped. */
const SECRET_FIELDS = ['"key":', '"secret":', '"token":'];

/** A page of a list of 50 KB takes under a millisecond at this quality, outside the main thread, and loses a tenth of its size. */
const BROTLI_QUALITY = 4;

/** The body in a coding. */
export function compress(body: string, encoding: Encoding): Promise<Buffer> {
  if (encoding === "gzip") return promisify(gzip)(body);
  return promisify(brotliCompress)(body, { params: { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY } });
}
