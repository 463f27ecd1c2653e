/** Text that is rendered once and served many times: each compressed form is made on its first request, and has an ETag of its own. */

import { createHash } from "node:crypto";
import type { FastifyReply, FastifyRequest } from "fastify";
import { encodingFor } from "../api/pipeline/encoding.ts";
import { EncodedBody } from "./encodings.ts";
import { SECURITY_HEADERS } from "./security-headers.ts";

/** A text with its type. */
export interface Rendered {
  body: EncodedBody;
  type: string;
  /** ETag of the uncompressed text, without quotes. */
  tag: string;
}

/** A text to serve. */
export function rendered(type: string, text: string): Rendered {
  const body = Buffer.from(text);
  const tag = createHash("sha256").update(body).digest("base64url").slice(0, 22);
  return { body: new EncodedBody(body), type: `${type}; charset=utf-8`, tag };
}

/** Sends a text, or 304 to a client that has it. */
export async function sendRendered(
  request: FastifyRequest,
  reply: FastifyReply,
  { body, type, tag }: Rendered,
): Promise<FastifyReply> {
  const encoding = encodingFor(request.headers["accept-encoding"]);
  // Each compressed form is a representation of its own and has its own ETag (RFC 9110, 8.8.3.3).
  const etag = `"${encoding === null ? tag : `${tag}-${encoding}`}"`;
  reply.headers({ ...SECURITY_HEADERS, ETag: etag, Vary: "Accept-Encoding", "Cache-Control": "no-cache" });
  const known = request.headers["if-none-match"]?.split(",").map((one) => one.trim().replace(/^W\//, ""));
  if (known?.includes(etag) === true) return reply.code(304).send();
  if (encoding !== null) reply.header("Content-Encoding", encoding);
  return reply.type(type).send(await body.in(encoding));
}
