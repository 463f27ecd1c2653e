/** Serves the documentation: `/docs` and its pages as HTML and as Markdown, the texts that its search reads, and all of it in one text. */

import { join } from "node:path";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { wholeText } from "../../../site/full-text.ts";
import { type DocsPage, Library, MISSING_PAGE } from "../../../site/library.ts";
import { searchTexts } from "../../../site/search-texts.ts";
import { fillShell, Shell } from "../../../site/shell.ts";
import type { OpenApiDocument } from "../../api/openapi/document.ts";
import { BuiltFiles, sendBuilt } from "../built-files.ts";
import { type Rendered, rendered, sendRendered } from "../rendered.ts";
import { SECURITY_HEADERS } from "../security-headers.ts";

/** The documented service. */
export interface DocsOptions {
  document(): OpenApiDocument;
  baseUrl(): string;
  root: string | null;
}

/** The pages of one address of the service in one shell, as far as they were asked for. */
interface Shelf {
  library: Library;
  template: string;
  texts: Map<string, Rendered | Promise<Rendered>>;
}

/** The name of a picture: no path leads out of its directory. */
const PICTURE = /^[\w-]+\.(png|webp)$/;

/** Adds the documentation. */
export function addDocs(app: FastifyInstance, { document, baseUrl, root }: DocsOptions): void {
  const shell = new Shell(root);
  let shelf: Shelf | undefined;
  /** The texts for the present address and build. Another address or build is rare, and forgets the former. */
  const present = (): Shelf => {
    const url = baseUrl();
    const template = shell.template();
    if (shelf === undefined || shelf.library.baseUrl !== url || shelf.template !== template) {
      shelf = { library: new Library(document(), url, root), template, texts: new Map() };
    }
    return shelf;
  };
  type Make = (from: Shelf) => Rendered | Promise<Rendered>;
  const send = async (request: FastifyRequest, reply: FastifyReply, name: string, make: Make) => {
    const from = present();
    const text = from.texts.get(name) ?? make(from);
    from.texts.set(name, text);
    try {
      return await sendRendered(request, reply, await text);
    } catch (error) {
      from.texts.delete(name);
      throw error;
    }
  };
  app.get("/llms-full.txt", (request, reply) =>
    send(request, reply, "llms-full.txt", async ({ library }) => rendered("text/plain", await wholeText(library))),
  );
  app.get("/docs/search.json", (request, reply) =>
    send(request, reply, "search.json", async ({ library }) =>
      rendered("application/json", await searchTexts(library)),
    ),
  );
  const sendPage = (request: FastifyRequest, reply: FastifyReply, path: string) => {
    const { library } = present();
    const isMarkdown = path.endsWith(".md");
    const page = library.find(isMarkdown ? path.slice(0, -".md".length) : path);
    if (page === null) return send(request, reply.code(404), "", missingPage);
    const make = isMarkdown ? () => rendered("text/markdown", `${page.markdown().trimEnd()}\n`) : htmlOf(page);
    return send(request, reply, `/${path}`, make);
  };
  const pictures = root === null ? null : new BuiltFiles(join(root, "docs/images"));
  app.get<{ Params: { name: string } }>("/docs/images/:name", (request, reply) => {
    const { name } = request.params;
    const picture = PICTURE.test(name) ? (pictures?.find(name) ?? null) : null;
    if (picture === null) return send(request, reply.code(404), "", missingPage);
    return sendBuilt(request, reply.headers({ ...SECURITY_HEADERS, "Cache-Control": "no-cache" }), picture);
  });
  app.get("/docs", (request, reply) => sendPage(request, reply, ""));
  app.get("/docs.md", (request, reply) => sendPage(request, reply, ".md"));
  app.get<{ Params: { "*": string } }>("/docs/*", (request, reply) =>
    sendPage(request, reply, request.params["*"].replace(/\/$/, "")),
  );
}

function htmlOf(page: DocsPage): (from: Shelf) => Rendered {
  return ({ library, template }) => rendered("text/html", fillShell(template, page, page.article(), library.chapters));
}

function missingPage({ library, template }: Shelf): Rendered {
  const page = { path: "/", title: "There is no such page" };
  return rendered("text/html", fillShell(template, page, MISSING_PAGE, library.chapters));
}
