/** The reference of the API where it is served: `/openapi.json`, `/docs`, `/llms.txt`. Made, and compressed, when first asked for. */

import { createHash } from "node:crypto";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { buildDocument, type OpenApiDocument } from "../api/openapi/document.ts";
import { renderGuide } from "../api/openapi/guide.ts";
import type { Route } from "../api/route.ts";
import { renderPage } from "./docs-page.ts";
import { EncodedBody, encodingFor } from "./encodings.ts";
import { SCRIPT, STYLE } from "./style.ts";

/** What the reference is of. */
export interface ReferenceOptions {
  routes: readonly Route[];
  version: string;
  /** Where the service is reached, without a slash at the end: known once it listens. */
  baseUrl(): string;
}

interface Page {
  body: EncodedBody;
  type: string;
  /** Of its plain form, without quotes. */
  tag: string;
}

/** The page has no origin but itself, and of itself only what this process has written (Content Security Policy 3). */
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

/** Adds the routes. For `extra` of `buildServer`. */
export function addReference(app: FastifyInstance, { routes, version, baseUrl }: ReferenceOptions): void {
  let document: OpenApiDocument | undefined;
  const read = () => {
    document ??= buildDocument(routes, version);
    return document;
  };
  const pages: Record<string, (url: string) => Page> = {
    "/openapi.json": () => pageOf("application/json; charset=utf-8", JSON.stringify(read())),
    "/docs": (url) => pageOf("text/html; charset=utf-8", renderPage(read(), url)),
    "/llms.txt": (url) => pageOf("text/plain; charset=utf-8", renderGuide(url)),
  };
  for (const [path, make] of Object.entries(pages)) {
    const made = new Map<string, Page>();
    app.get(path, (request, reply) => {
      // Known once the service listens: what was asked for before is made again.
      const url = baseUrl();
      const page = made.get(url) ?? make(url);
      made.set(url, page);
      return send(request, reply, page);
    });
  }
}

function pageOf(type: string, text: string): Page {
  const body = Buffer.from(text);
  const tag = createHash("sha256").update(body).digest("base64url").slice(0, 22);
  return { body: new EncodedBody(body), type, tag };
}

async function send(request: FastifyRequest, reply: FastifyReply, { body, type, tag }: Page): Promise<FastifyReply> {
  const encoding = encodingFor(request.headers["accept-encoding"]);
  // Each form is a representation of its own (RFC 9110, 8.8.3.3).
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
