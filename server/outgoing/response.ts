/** The part of a receiver's response that is stored: a short text, whatever bytes were sent. Pure. */

import { StringDecoder } from "node:string_decoder";

/**
 * The first `bytesMax` bytes as UTF-8 text of at most that size. Leaves out a character that is cut at the end. Bytes that
 * are not UTF-8, and NUL, become U+FFFD.
 */
export function responseText(chunks: readonly Buffer[], bytesMax: number): string {
  const [first] = chunks;
  if (first === undefined) return "";
  const bytes = chunks.length === 1 ? first : Buffer.concat(chunks);
  const decoded =
    bytes.length <= bytesMax ? bytes.toString() : new StringDecoder("utf8").write(bytes.subarray(0, bytesMax));
  const text = decoded.includes("\0") ? decoded.replaceAll("\0", "\ufffd") : decoded;
  // A byte that is not UTF-8 becomes a character of three bytes.
  if (text.length * 3 <= bytesMax || Buffer.byteLength(text) <= bytesMax) return text;
  return text.slice(0, new TextEncoder().encodeInto(text, new Uint8Array(bytesMax)).read);
}
