/** Finds the client of a request: attempts and bodies of callers without a key are counted by its network. */

import type { IncomingMessage } from "node:http";
import { isLoopback } from "../../core/address.ts";
import { type ClientAddress, clientAddress, networkOf } from "../../core/client-address.ts";
import type { BodyPlace } from "./body-budget.ts";
import type { Edge } from "./edge.ts";
import type { Exchange } from "./exchange.ts";
import { isForwarded } from "./forwarded.ts";

/** The client of a request, with its network as the address. Tells the service of a trusted proxy that names no client. */
export function clientOf({ trustedProxies, unnamed }: Edge, { headers, socket }: IncomingMessage): ClientAddress {
  const peer = socket.remoteAddress ?? "";
  const { address, isShared } = clientAddress(peer, String(headers["x-forwarded-for"] ?? ""), trustedProxies);
  // Without any header of a proxy the client may be a browser on this machine.
  if (isShared && (isForwarded({ headers }) || !isLoopback(peer))) unnamed();
  return { address: networkOf(address), isShared };
}

/** The place for the body of a request without a key; null if another process, which has read the body, passed the request on. */
export function placeOf({ edge, isPassedOn, request }: Exchange, kind: BodyPlace["kind"]): BodyPlace | null {
  return isPassedOn ? null : { kind, client: clientOf(edge, request).address };
}
