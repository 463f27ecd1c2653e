/** What is kept of a receiver's answer: a short text, whatever bytes it sent. Pure. */

import { StringDecoder } from "node:string_decoder";

/**
 * The first `bytesMax` bytes as UTF-8 text of at most that size: a character that is cut at the end is left out, what
 * is not UTF-8 and NUL become U+FFFD.
 */
export function responseText(chunks: readonly Buffer[], bytesMax: number): string {
  const [first] = chunks;
  if (first === undefined) return "";
  const bytes = chunks.length === 1 ? first : Buffer.concat(chunks);
  const decoded =
    bytes.length <= bytesMax ? bytes.toString() : new StringDecoder("utf8").write(bytes.subarray(0, bytesMax));
  const text = decoded.includes("\0") ? decoded.replaceAll("\0", "\ufffd") : decoded;
  // One byte that is not UTF-8 becomes a character of three.
  if (text.length * 3 <= bytesMax || Buffer.byteLength(text) <= bytesMax) return text;
  return text.slice(0, new TextEncoder().encodeInto(text, new Uint8Array(bytesMax)).read);
}
