/** Serves `/openapi.json`, `/llms.txt`, the documentation, and the client. Each text is compressed on its first request. */

import type { FastifyInstance } from "fastify";
import { buildDocument } from "../api/openapi/document.ts";
import { renderGuide } from "../api/openapi/guide.ts";
import { addClientPackage, type ClientPackageOptions } from "./client-package.ts";
import { addDocs } from "./docs.ts";
import { type Rendered, rendered, sendRendered } from "./rendered.ts";

/** The service that the reference describes. */
export interface ReferenceOptions extends ClientPackageOptions {
  /** The service's address without a slash at the end. Known once the service listens. */
  baseUrl(): string;
  /** The directory of the package, with what was built; null if there is none. */
  root: string | null;
}

/** Adds the reference, the documentation and the client. */
export function addReference(app: FastifyInstance, options: ReferenceOptions): void {
  const { version, baseUrl, root } = options;
  addClientPackage(app, options);
  const texts: Record<string, (url: string) => Rendered> = {
    "/openapi.json": () => rendered("application/json", JSON.stringify(buildDocument(version))),
    "/llms.txt": (url) => rendered("text/plain", renderGuide(url)),
  };
  for (const [path, make] of Object.entries(texts)) {
    const made = new Map<string, Rendered>();
    app.get(path, (request, reply) => {
      // A text that was requested before the service listened is rendered again with its address.
      const url = baseUrl();
      const text = made.get(url) ?? make(url);
      made.set(url, text);
      return sendRendered(request, reply, text);
    });
  }
  addDocs(app, { baseUrl, root });
}
