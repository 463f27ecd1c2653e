/** Where peers tell of what happens: beside `/v1`, and without a key. The path holds a token, and the provider checks the rest. */

import type { IncomingHttpHeaders } from "node:http";
import type { FastifyInstance } from "fastify";
import type { Context } from "../engine/context.ts";
import { HOOKS_PATH, receiveAtHook } from "../engine/hooks.ts";
import { readWhole } from "./read-whole.ts";

/** Largest body that a hook takes, in bytes: peers name files, and do not send them. */
const BODY_BYTES_MAX = 1_048_576;

type Params = { id: string; token: string; "*"?: string };

/** Adds the hooks of all instances. What they are asked while the service starts or stops is a 503. */
export function registerHooks(app: FastifyInstance, context: Context): void {
  for (const url of [`${HOOKS_PATH}:id/:token`, `${HOOKS_PATH}:id/:token/*`]) {
    app.route<{ Params: Params }>({
      method: ["GET", "POST"],
      url,
      async handler({ method, params, raw }, reply) {
        const body = await readWhole(raw, reply.raw, BODY_BYTES_MAX);
        const { "*": rest } = params;
        const query = /\?.*/s.exec(raw.url ?? "")?.[0] ?? "";
        const answered = await receiveAtHook(context, {
          id: params.id,
          token: params.token,
          method: method === "POST" ? "POST" : "GET",
          rest: rest === undefined ? "" : `/${rest}`,
          query,
          headers: joined(raw.headers),
          body,
        });
        reply.code(answered.status);
        if (answered.contentType !== undefined) reply.type(answered.contentType);
        return reply.send(answered.body ?? "");
      },
    });
  }
}

function joined(headers: IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value = ""]) => [name, [value].flat().join(", ")]));
}
