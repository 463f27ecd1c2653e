/** Where peers tell of what happens: beside `/v1`, and without a key. The path holds a token, and the provider checks the rest. */

import type { FastifyInstance } from "fastify";
import { ApiError } from "../core/error.ts";
import type { Context } from "../engine/context.ts";
import { HOOKS_PATH, receiveAtHook } from "../engine/instances/hooks.ts";
import { joinedHeaders, readWhole } from "./read-whole.ts";

/** Largest body that a hook takes, in bytes: peers name files, and do not send them. */
const BODY_BYTES_MAX = 1_048_576;

type Params = { id: string; token: string };

/** The parts of a target: what follows the token as it was sent, since peers sign it so, and the query with its mark. */
const TARGET = /^(?:https?:\/\/[^/?#]*)?\/hooks\/[^/?#]*\/[^/?#]*([^?#]*)(\?.*)?$/is;

/** Adds the hooks of all instances. What they are asked while the service starts or stops is a 503. */
export function registerHooks(app: FastifyInstance, context: Context): void {
  for (const url of [`${HOOKS_PATH}:id/:token`, `${HOOKS_PATH}:id/:token/*`]) {
    app.route<{ Params: Params }>({
      method: ["GET", "POST"],
      url,
      async handler({ method, params, raw }, reply) {
        const body = await readWhole(raw, reply.raw, BODY_BYTES_MAX);
        const target = TARGET.exec(raw.url ?? "");
        // The router reads more spellings than peers are told.
        if (target === null) throw new ApiError("NOT_FOUND", "There is nothing at this address.");
        const [, rest = "", query = ""] = target;
        const answered = await receiveAtHook(context, {
          id: params.id,
          token: params.token,
          method: method === "POST" ? "POST" : "GET",
          rest,
          query,
          headers: joinedHeaders(raw.headers),
          body,
        });
        reply.code(answered.status);
        if (answered.contentType !== undefined) reply.type(answered.contentType);
        return reply.send(answered.body ?? "");
      },
    });
  }
}
