/** Serves the console: the files that `npm run build` wrote, one page for all its addresses, or a page that says how to build it. */

import { join } from "node:path";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { BuiltFiles, sendBuilt } from "./built-files.ts";
import { SECURITY_HEADERS } from "./security-headers.ts";
import { sendUnbuilt } from "./unbuilt.ts";

/** Addresses of the console. Its script shows the screen of the address. */
export const CONSOLE_PATHS: readonly string[] = [
  "/",
  ...["messages", "phone", "webhooks", "logs", "settings"].flatMap((name) => [`/${name}`, `/${name}/*`]),
  // Short addresses of records, of requests and of phones.
  ...["/m/:id", "/e/:id", "/d/:id", "/r/:id", "/p/:number"],
];

/** Files with a hash in their name never change. */
const FOR_EVER = "public, max-age=31536000, immutable";

/** The name of a built file: no path leads out of the directory. */
const FILE = /^[\w-]+(\.[\w-]+)+$/;

/** A request target with a path; the router takes `*`, which has none, for `/`. */
const HAS_PATH = /^(\/|https?:\/\/)/i;

/** Adds the pages of the console. `root`: the directory of the package; null if there is none. */
export function addConsole(app: FastifyInstance, root: string | null): void {
  app.register((pages, _, done) => {
    addPaths(pages, root);
    done();
  });
}

function addPaths(pages: FastifyInstance, root: string | null): void {
  const files = filesOf(root);
  pages.addHook("onRequest", (_request, reply, next) => {
    reply.headers(SECURITY_HEADERS);
    next();
  });
  pages.get<{ Params: { file: string } }>("/assets/:file", (request, reply) => {
    const { file: name } = request.params;
    const file = FILE.test(name) ? (files?.find(`assets/${name}`) ?? null) : null;
    if (file === null) return reply.callNotFound();
    return sendBuilt(request, reply.header("Cache-Control", FOR_EVER), file);
  });
  for (const path of CONSOLE_PATHS)
    pages.get(path, (request, reply) =>
      HAS_PATH.test(request.raw.url ?? "") ? sendPage(request, reply, files) : reply.callNotFound(),
    );
}

/** Sends the console's page with status 404, which says that there is no such page. Returns false if the console is not built. */
export function missingSender(root: string | null): (reply: FastifyReply) => boolean {
  const files = filesOf(root);
  return (reply) => {
    const page = files?.find("index.html") ?? null;
    if (page === null) return false;
    const headers = { ...SECURITY_HEADERS, "Cache-Control": "no-cache" };
    reply.code(404).headers(headers).type(page.type).send(page.forms.get(null));
    return true;
  };
}

function filesOf(root: string | null): BuiltFiles | null {
  return root === null ? null : new BuiltFiles(join(root, "dist/console"));
}

function sendPage(request: FastifyRequest, reply: FastifyReply, files: BuiltFiles | null): FastifyReply {
  reply.header("Cache-Control", "no-cache");
  const page = files?.find("index.html") ?? null;
  return page === null ? sendUnbuilt(reply) : sendBuilt(request, reply, page);
}
