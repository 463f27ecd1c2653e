/** Serves `/sdk.tgz`: the client of this version as npm installs it. Read once, on the first request; anybody may fetch it. */

import { createHash } from "node:crypto";
import type { FastifyInstance } from "fastify";
import { ApiError } from "../core/error.ts";
import type { Log } from "../log.ts";

/** The client that the service hands out. */
export interface ClientPackageOptions {
  version: string;
  /** Reads the tarball that the build or the start packed. */
  readClient(): Promise<Buffer>;
  log: Pick<Log, "warn">;
}

interface ClientPackage {
  tarball: Buffer;
  etag: string;
}

/** Adds the tarball. A read that failed is not repeated before the next start: strangers may ask. */
export function addClientPackage(app: FastifyInstance, { version, readClient, log }: ClientPackageOptions): void {
  let read: Promise<ClientPackage | null> | undefined;
  const readOnce = async (): Promise<ClientPackage | null> => {
    try {
      const tarball = await readClient();
      const hash = createHash("sha256").update(tarball).digest("base64url").slice(0, 22);
      return { tarball, etag: `"${version}-${hash}"` };
    } catch (error) {
      log.warn("client", { reason: `the client at /sdk.tgz cannot be packed: ${error}` });
      return null;
    }
  };
  app.get("/sdk.tgz", async (request, reply) => {
    read ??= readOnce();
    const found = await read;
    if (found === null) {
      const sentence = "The client could not be packed on this machine; the log of the service has the reason.";
      throw new ApiError("SERVICE_UNAVAILABLE", sentence);
    }
    reply.headers({ ETag: found.etag, "Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff" });
    const known = request.headers["if-none-match"]?.split(",").map((one) => one.trim().replace(/^W\//, ""));
    if (known?.includes(found.etag) === true) return reply.code(304).send();
    return reply.type("application/gzip").send(found.tarball);
  });
}
