/** Hooks: the addresses to which providers' systems send callbacks. The token in the path replaces a key. */

import { ApiError } from "../core/error.ts";
import type { With } from "../engine/engine-deps.ts";
import { findHook, receiveHook } from "../engine/instances/hooks.ts";
import { HOOKS_PATH } from "../engine/signed-links.ts";
import { joinedHeaders } from "./joined-headers.ts";
import { type ApiResponse, type PublicRequest, publicRoute, type Route } from "./route.ts";

/** Largest body of a callback, in bytes: callbacks name files and do not contain them. */
const BODY_BYTES_MAX = 1_048_576;

/** The parts of a target after the token: path and query, not decoded, since signatures cover them as sent. */
const TARGET = /^(?:https?:\/\/[^/?#]*)?\/hooks\/[^/?#]*\/[^/?#]*(\/[^?#]*)?(\?.*)?$/is;

/**
 * The hooks of all instances. While the service starts or stops they refuse with 503. A request whose address is no hook
 * is refused before a byte of its body is read.
 */
export function hookRoutes(deps: With<"configCache" | "signedLinks" | "providers" | "publicUrl">): Route[] {
  return (["GET", "POST"] as const).flatMap((method) => {
    const handle = (request: HookCall) => receive(deps, method, request);
    return [
      publicRoute({ method, path: `${HOOKS_PATH}:id/:token`, handle }),
      publicRoute({ method, path: `${HOOKS_PATH}:id/:token/*`, handle }),
    ];
  });
}

type HookCall = PublicRequest<{ id: string; token: string }>;

async function receive(
  deps: With<"configCache" | "signedLinks" | "providers" | "publicUrl">,
  method: "GET" | "POST",
  request: HookCall,
): Promise<ApiResponse> {
  const target = TARGET.exec(request.target);
  // The router decodes paths, so it also matches spellings that are not the hook's address.
  if (target === null) throw new ApiError("NOT_FOUND", "There is nothing at this address.");
  const [, rest = "", query = ""] = target;
  const { id, token } = request.params;
  const owner = `hook ${await findHook(deps, { id, token })}`;
  const response = await request.withBody({ owner, kind: "callback", bytesMax: BODY_BYTES_MAX }, (body) =>
    receiveHook(deps, { id, token, method, rest, query, headers: joinedHeaders(request.headers), body }),
  );
  return { status: response.status, contentType: response.contentType ?? null, body: response.body ?? "" };
}
