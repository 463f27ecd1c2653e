/** Where peers tell of what happens: beside `/v1`, and without a key. The path holds a token, and the provider checks the rest. */

import type { FastifyInstance } from "fastify";
import { ApiError } from "../core/error.ts";
import type { Deps } from "../engine/deps.ts";
import { findHook, HOOKS_PATH, receiveHook } from "../engine/instances/hooks.ts";
import { joinedHeaders } from "./joined-headers.ts";
import type { BodyBudget } from "./pipeline/body-budget.ts";

/** Largest body that a hook takes, in bytes: peers name files, and do not send them. */
const BODY_BYTES_MAX = 1_048_576;

type Params = { id: string; token: string };

/** The parts of a target: what follows the token as it was sent, since peers sign it so, and the query with its mark. */
const TARGET = /^(?:https?:\/\/[^/?#]*)?\/hooks\/[^/?#]*\/[^/?#]*([^?#]*)(\?.*)?$/is;

/**
 * Adds the hooks of all instances. What they are asked while the service starts or stops is a 503. A request whose
 * address is no hook is answered before a byte of its body is read.
 */
export function addHooks(app: FastifyInstance, deps: Deps, bodies: BodyBudget): void {
  for (const url of [`${HOOKS_PATH}:id/:token`, `${HOOKS_PATH}:id/:token/*`]) {
    app.route<{ Params: Params }>({
      method: ["GET", "POST"],
      url,
      async handler({ method, params, raw }, reply) {
        const target = TARGET.exec(raw.url ?? "");
        // The router reads more spellings than peers are told.
        if (target === null) throw new ApiError("NOT_FOUND", "There is nothing at this address.");
        const [, rest = "", query = ""] = target;
        const { id, token } = params;
        const held = bodies.open(`hook ${await findHook(deps, { id, token })}`);
        try {
          const answered = await receiveHook(deps, {
            id,
            token,
            method: method === "POST" ? "POST" : "GET",
            rest,
            query,
            headers: joinedHeaders(raw.headers),
            body: await held.read(raw, reply.raw, { bytesMax: BODY_BYTES_MAX }),
          });
          reply.code(answered.status);
          if (answered.contentType !== undefined) reply.type(answered.contentType);
          return reply.send(answered.body ?? "");
        } finally {
          held.release();
        }
      },
    });
  }
}
