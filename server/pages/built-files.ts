/** Reads the built files of the console into memory, and sends them: neither a slow client nor a flood of requests holds files open. */

import { createHash } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { extname, join } from "node:path";
import type { FastifyReply, FastifyRequest } from "fastify";
import { type Encoding, encodingFor } from "../api/pipeline/encoding.ts";

/** Content types by the ends of names: other files are not served. */
const TYPES: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".webp": "image/webp",
  ".woff2": "font/woff2",
};

/** The compressed forms that the build writes beside a file. */
const ENDINGS: readonly (readonly [Encoding, string])[] = [
  ["br", ".br"],
  ["gzip", ".gz"],
];

interface BuiltFile {
  type: string;
  /** ETag of the uncompressed file, without quotes. */
  tag: string;
  /** When it was written, in epoch milliseconds. */
  writtenAt: number;
  /** By content coding; null: uncompressed. */
  forms: ReadonlyMap<Encoding | null, Buffer>;
}

/** The files of a directory, each read when it is first asked for and again after it was built anew. */
export class BuiltFiles {
  readonly #directory: string;
  readonly #files = new Map<string, BuiltFile>();

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** The file at a path inside the directory; null if there is none. The caller makes sure that the path stays inside. */
  find(path: string): BuiltFile | null {
    const type = TYPES[extname(path)];
    const writtenAt = type === undefined ? null : writtenAtOf(join(this.#directory, path));
    if (type === undefined || writtenAt === null) {
      this.#files.delete(path);
      return null;
    }
    const known = this.#files.get(path);
    if (known?.writtenAt === writtenAt) return known;
    const file = { type, writtenAt, ...readForms(join(this.#directory, path)) };
    this.#files.set(path, file);
    return file;
  }
}

/** When the file at a path was written, in epoch milliseconds; null if there is none. */
export function writtenAtOf(path: string): number | null {
  const found = statSync(path, { throwIfNoEntry: false });
  return found?.isFile() === true ? found.mtimeMs : null;
}

function readForms(path: string): Pick<BuiltFile, "tag" | "forms"> {
  const plain = readFileSync(path);
  const forms = new Map<Encoding | null, Buffer>([[null, plain]]);
  for (const [encoding, ending] of ENDINGS)
    if (writtenAtOf(path + ending) !== null) forms.set(encoding, readFileSync(path + ending));
  return { tag: createHash("sha256").update(plain).digest("base64url").slice(0, 22), forms };
}

/** Sends a file in the form that the client prefers, or 304 to a client that has it. */
export function sendBuilt(request: FastifyRequest, reply: FastifyReply, { type, tag, forms }: BuiltFile): FastifyReply {
  const wanted = encodingFor(request.headers["accept-encoding"]);
  const encoding = forms.has(wanted) ? wanted : null;
  // Each compressed form has an ETag of its own (RFC 9110, 8.8.3.3).
  const etag = `"${encoding === null ? tag : `${tag}-${encoding}`}"`;
  reply.headers({ ETag: etag, Vary: "Accept-Encoding" });
  const known = request.headers["if-none-match"]?.split(",").map((one) => one.trim().replace(/^W\//, ""));
  if (known?.includes(etag) === true) return reply.code(304).send();
  if (encoding !== null) reply.header("Content-Encoding", encoding);
  return reply.type(type).send(forms.get(encoding));
}
