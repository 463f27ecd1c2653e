/** Serves the reference of the API: `/openapi.json`, `/docs`, `/llms.txt`. Each is rendered and compressed on its first request. */

import { createHash } from "node:crypto";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { buildDocument, type OpenApiDocument } from "../api/openapi/document.ts";
import { renderGuide } from "../api/openapi/guide.ts";
import type { Route } from "../api/route.ts";
import { renderPage } from "./docs-page.ts";
import { EncodedBody, encodingFor } from "./encodings.ts";
import { SCRIPT, STYLE } from "./style.ts";

/** The service that the reference describes. */
export interface ReferenceOptions {
  routes: readonly Route[];
  version: string;
  /** The service's address without a slash at the end. Known once the service listens. */
  baseUrl(): string;
}

interface ReferencePage {
  body: EncodedBody;
  type: string;
  /** ETag of the uncompressed page, without quotes. */
  tag: string;
}

/** Content Security Policy: the page loads nothing, and runs only the style and the script of this process. */
const POLICY = [
  "default-src 'none'",
  `style-src '${hashOf(STYLE)}'`,
  `script-src '${hashOf(SCRIPT)}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

function hashOf(text: string): string {
  return `sha256-${createHash("sha256").update(text).digest("base64")}`;
}

/** Adds the pages of the reference. */
export function addReference(app: FastifyInstance, { routes, version, baseUrl }: ReferenceOptions): void {
  let document: OpenApiDocument | undefined;
  const read = () => {
    document ??= buildDocument(routes, version);
    return document;
  };
  const pages: Record<string, (url: string) => ReferencePage> = {
    "/openapi.json": () => pageOf("application/json; charset=utf-8", JSON.stringify(read())),
    "/docs": (url) => pageOf("text/html; charset=utf-8", renderPage(read(), url)),
    "/llms.txt": (url) => pageOf("text/plain; charset=utf-8", renderGuide(url)),
  };
  for (const [path, make] of Object.entries(pages)) {
    const made = new Map<string, ReferencePage>();
    app.get(path, (request, reply) => {
      // A page that was requested before the service listened is rendered again with its address.
      const url = baseUrl();
      const page = made.get(url) ?? make(url);
      made.set(url, page);
      return send(request, reply, page);
    });
  }
}

function pageOf(type: string, text: string): ReferencePage {
  const body = Buffer.from(text);
  const tag = createHash("sha256").update(body).digest("base64url").slice(0, 22);
  return { body: new EncodedBody(body), type, tag };
}

async function send(
  request: FastifyRequest,
  reply: FastifyReply,
  { body, type, tag }: ReferencePage,
): Promise<FastifyReply> {
  const encoding = encodingFor(request.headers["accept-encoding"]);
  // Each compressed form is a representation of its own and has its own ETag (RFC 9110, 8.8.3.3).
  const etag = `"${encoding === null ? tag : `${tag}-${encoding}`}"`;
  reply.headers({
    ETag: etag,
    Vary: "Accept-Encoding",
    "Cache-Control": "no-cache",
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
  });
  const known = request.headers["if-none-match"]?.split(",").map((one) => one.trim().replace(/^W\//, ""));
  if (known?.includes(etag) === true) return reply.code(304).send();
  if (encoding !== null) reply.header("Content-Encoding", encoding);
  return reply.type(type).send(await body.in(encoding));
}
