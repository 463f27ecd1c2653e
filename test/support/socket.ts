/** Raw HTTP for tests: sends exact bytes over a socket, and returns the first response. */

import { connect } from "node:net";

/** A received response. Header names are in lower case; `body` is text. */
export interface RawAnswer {
  status: number;
  headers: Record<string, string>;
  body: string;
  /** Everything received, including `100 Continue` and further responses. */
  raw: string;
}

export interface AskOptions {
  /** Ends the sending side after the bytes, as a client that dies in mid-request. */
  cut?: boolean;
  /** Number of responses to wait for; the last one is returned. */
  answers?: number;
  /** Whether the request was a HEAD, whose response has no body. */
  head?: boolean;
  limitMs?: number;
}

/**
 * Sends `bytes` to a local port and resolves with the response. Rejects without a response, or if the response is not
 * HTTP.
 */
export function ask(port: number, bytes: string | Buffer, options: AskOptions = {}): Promise<RawAnswer> {
  const { cut = false, answers = 1, head = false, limitMs = 15_000 } = options;
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1" });
    let received = Buffer.alloc(0);
    const timer = setTimeout(() => end(new Error(`no answer within ${limitMs} ms: ${received}`)), limitMs);
    const end = (outcome: RawAnswer | Error) => {
      clearTimeout(timer);
      socket.destroy();
      if (outcome instanceof Error) reject(outcome);
      else resolve(outcome);
    };
    socket.on("connect", () => (cut ? socket.end(bytes) : socket.write(bytes)));
    // Everything after the response, such as a reset of the rest that was being sent, does not matter.
    socket.on("error", () => {});
    socket.on("data", (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      const found = parseAnswers(received, head)[answers - 1];
      if (found !== undefined) end(found);
    });
    socket.on("close", () =>
      end(new Error(`closed without an answer: ${JSON.stringify(received.toString("latin1"))}`)),
    );
  });
}

/** The complete final responses in `received`. */
function parseAnswers(received: Buffer, isHead: boolean): RawAnswer[] {
  const found: RawAnswer[] = [];
  for (let start = 0; start < received.length; ) {
    const headEnd = received.indexOf("\r\n\r\n", start);
    if (headEnd < 0) break;
    const [statusLine = "", ...lines] = received.toString("latin1", start, headEnd).split("\r\n");
    const status = Number(statusLine.split(" ")[1]);
    const headers = Object.fromEntries(
      lines.map((line) => {
        const colon = line.indexOf(":");
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
      }),
    );
    const bodyStart = headEnd + 4;
    const bodyEnd = bodyStart + (isHead || status < 200 ? 0 : Number(headers["content-length"] ?? 0));
    if (received.length < bodyEnd) break;
    const body = received.toString("utf8", bodyStart, bodyEnd);
    if (status >= 200) found.push({ status, headers, body, raw: received.toString("latin1") });
    start = bodyEnd;
  }
  return found;
}
