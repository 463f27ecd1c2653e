/** Serves the documentation that `npm run build` made: its pages as HTML and as Markdown, the texts that its search reads, and all of it in one text. */

import { readFileSync } from "node:fs";
import { extname, join } from "node:path";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { BuiltFiles, sendBuilt, writtenAtOf } from "./built-files.ts";
import { type Rendered, rendered, sendRendered } from "./rendered.ts";
import { SECURITY_HEADERS } from "./security-headers.ts";
import { SERVICE_URL } from "./service-url.ts";
import { sendUnbuilt } from "./unbuilt.ts";

/** The documented service. */
export interface DocsOptions {
  baseUrl(): string;
  root: string | null;
}

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html",
  ".json": "application/json",
  ".md": "text/markdown",
  ".txt": "text/plain",
};

/** The address of a page below `/docs/`: no path leads out of the directory. */
const PAGE = /^[a-z\d-]+(\/[a-z\d-]+)*(\.md)?$/;
/** The name of a picture: no path leads out of its directory. */
const PICTURE = /^[\w-]+\.(png|webp)$/;

/** Adds the documentation. */
export function addDocs(app: FastifyInstance, { baseUrl, root }: DocsOptions): void {
  const texts = root === null ? null : new MadeTexts(join(root, "dist/console/pages"), baseUrl);
  const sendMissing = (request: FastifyRequest, reply: FastifyReply) => {
    const page = texts?.find("404.html") ?? null;
    return page === null ? sendUnbuilt(reply) : sendRendered(request, reply.code(404), page);
  };
  const send = (request: FastifyRequest, reply: FastifyReply, path: string) => {
    const text = texts?.find(path) ?? null;
    return text === null ? sendMissing(request, reply) : sendRendered(request, reply, text);
  };
  for (const path of ["llms-full.txt", "docs/search.json", "docs.md"])
    app.get(`/${path}`, (request, reply) => send(request, reply, path));
  app.get("/docs", (request, reply) => send(request, reply, "docs.html"));
  app.get<{ Params: { "*": string } }>("/docs/*", (request, reply) => {
    const path = request.params["*"].replace(/\/$/, "");
    if (!PAGE.test(path)) return sendMissing(request, reply);
    return send(request, reply, `docs/${path}${path.endsWith(".md") ? "" : ".html"}`);
  });
  const pictures = root === null ? null : new BuiltFiles(join(root, "docs/images"));
  app.get<{ Params: { name: string } }>("/docs/images/:name", (request, reply) => {
    const { name } = request.params;
    const picture = PICTURE.test(name) ? (pictures?.find(name) ?? null) : null;
    if (picture === null) return sendMissing(request, reply);
    return sendBuilt(request, reply.headers({ ...SECURITY_HEADERS, "Cache-Control": "no-cache" }), picture);
  });
}

interface MadeText {
  writtenAt: number;
  url: string;
  text: Rendered;
}

/** The made texts with the service's address, each read when it is first asked for, and again after another build or for another address. */
class MadeTexts {
  readonly #directory: string;
  readonly #baseUrl: () => string;
  readonly #made = new Map<string, MadeText>();

  constructor(directory: string, baseUrl: () => string) {
    this.#directory = directory;
    this.#baseUrl = baseUrl;
  }

  /** The text at a path inside the directory; null if there is none. The caller makes sure that the path stays inside. */
  find(path: string): Rendered | null {
    const file = join(this.#directory, path);
    const writtenAt = writtenAtOf(file);
    if (writtenAt === null) return null;
    const url = this.#baseUrl();
    const known = this.#made.get(path);
    if (known?.writtenAt === writtenAt && known.url === url) return known.text;
    const type = TYPES[extname(path)] ?? "text/plain";
    const shown = type === "text/html" ? url.replaceAll("&", "&amp;") : url;
    const text = rendered(
      type,
      readFileSync(file, "utf8").replaceAll(SERVICE_URL, () => shown),
    );
    this.#made.set(path, { writtenAt, url, text });
    return text;
  }
}
