/** Routes of the request log: list it, count its errors, get a request with its bodies. */

import type { Static } from "typebox";
import { RequestErrorsQuery, RequestsQuery } from "../../contract/requests.ts";
import type { LoggedExchange, LoggedRequestList, RequestErrors } from "../../sdk/wire.ts";
import { ApiError, invalidField } from "../core/error.ts";
import type { CustomerId, KeyId, MessageId } from "../core/id.ts";
import { BOUND_EXPECTED, parseBound } from "../core/instant.ts";
import { errorGroupRecord, loggedExchangeRecord, loggedRequestRecord } from "../core/logged-request.ts";
import type { Deps } from "../engine/deps.ts";
import type { RequestLog } from "../engine/requests/request-log.ts";
import { findMessage } from "../store/messages.ts";
import { findRequest, groupErrors, listRequests, type RequestFilter, type RequestsOf } from "../store/requests.ts";
import { decodeCursor, encodeCursor } from "./cursor.ts";
import { listReader } from "./list-reader.ts";
import { type Caller, type Route, route } from "./route.ts";

/** Requests that `log` still holds in memory are written first, so that they are included. */
export function requestRoutes(deps: Deps, log: Pick<RequestLog, "flush">): Route[] {
  return [
    route({
      method: "GET",
      path: "/v1/requests",
      scope: "any",
      query: RequestsQuery,
      async handle(request) {
        const { caller, query } = request;
        const filter = await filterOf(deps, caller, query);
        await log.flush();
        const db = listReader(deps, request);
        const place = await placeOf(deps, filter, query);
        const { records, next } = await listRequests(db, filter, { ...place, limit: query.limit });
        const nextCursor = next === null ? null : encodeCursor({ order: place.order, from: next.from });
        const data: LoggedRequestList = {
          requests: records.map(loggedRequestRecord),
          pagination: { hasMore: next !== null, nextCursor },
        };
        return { data };
      },
    }),
    route({
      method: "GET",
      path: "/v1/requests/errors",
      scope: "any",
      query: RequestErrorsQuery,
      async handle(request) {
        const { caller, query } = request;
        const whose = whoseOf(caller, query);
        const period = periodOf(query);
        await log.flush();
        const groups = await groupErrors(listReader(deps, request), whose, period);
        return { data: { errors: groups.map(errorGroupRecord) } satisfies RequestErrors };
      },
    }),
    route({
      method: "GET",
      path: "/v1/requests/:id",
      scope: "any",
      async handle(request) {
        const { caller, params } = request;
        await log.flush();
        const found = await findRequest(listReader(deps, request), params.id, whoseOf(caller, {}));
        if (found !== null) return { data: shownTo(caller, loggedExchangeRecord(found)) };
        const about = "it is no longer kept, or its response had another X-Request-Id";
        throw new ApiError("NOT_FOUND", `The log has no request ${params.id.slice(0, 128)} of yours: ${about}.`);
      },
    }),
  ];
}

/** A request as a key may see it: what another key sent and got holds texts of contacts. */
function shownTo({ key }: Caller, exchange: LoggedExchange): LoggedExchange {
  return exchange.keyId === key.id ? exchange : { ...exchange, request: null, response: null };
}

type Whose = Pick<Static<typeof RequestsQuery>, "keyId" | "customerId">;

/** The requests that the caller asks for and may see. Throws 403 for a customer's key that asks for others. */
function whoseOf({ key, customerId }: Caller, asked: Whose): RequestsOf {
  if (customerId === null)
    return { keyId: asked.keyId as KeyId | undefined, customerId: asked.customerId as CustomerId | undefined };
  const isOthers = (asked.keyId ?? key.id) !== key.id || (asked.customerId ?? customerId) !== customerId;
  if (isOthers) throw new ApiError("FORBIDDEN", "A customer's key sees its own requests only. Use an admin key.");
  return { keyId: key.id, customerId };
}

async function filterOf(deps: Deps, caller: Caller, query: Static<typeof RequestsQuery>): Promise<RequestFilter> {
  const { method, path, code, correlationId, messageId } = query;
  return {
    ...whoseOf(caller, query),
    ...periodOf(query),
    ...statusOf(query.status),
    method,
    path,
    code,
    correlationId,
    about: messageId === undefined ? undefined : await aboutMessage(deps, caller, messageId),
  };
}

/** The request that created a message, and those about it. */
async function aboutMessage(deps: Deps, { customerId }: Caller, id: string) {
  const message = await findMessage(deps.store.db, id as MessageId);
  const isSeen = message !== null && (customerId === null || message.customerId === customerId);
  return { correlationId: isSeen ? message.correlationId : null, path: `/v1/messages/${id}` };
}

function statusOf(status: string | undefined): Pick<RequestFilter, "statusMin" | "statusMax"> {
  if (status === undefined) return {};
  if (!/^[1-5](xx|\d\d)$/.test(status)) throw invalidField("status", "must be a status or a class: 404, 4xx");
  if (!status.endsWith("xx")) return { statusMin: Number(status), statusMax: Number(status) + 1 };
  const statusMin = Number(status[0]) * 100;
  return { statusMin, statusMax: statusMin + 100 };
}

function periodOf({ since, until }: Pick<Static<typeof RequestsQuery>, "since" | "until">) {
  const read = (name: "since" | "until", text: string | undefined, end: "from" | "to") => {
    if (text === undefined) return undefined;
    const at = parseBound(text, end);
    if (at === null) throw invalidField(name, BOUND_EXPECTED);
    return at;
  };
  return { sinceAt: read("since", since, "from"), untilAt: read("until", until, "to") };
}

interface RequestPlace {
  order: "newest" | "oldest";
  from: number | null;
}

/** Where the page begins: at the newest request, after the request `after` (oldest first), or where the cursor says. */
async function placeOf(
  deps: Deps,
  { customerId, keyId }: RequestFilter,
  { cursor, after }: Pick<Static<typeof RequestsQuery>, "cursor" | "after">,
): Promise<RequestPlace> {
  if (cursor !== undefined) return decodeCursor(cursor, isPlace);
  if (after === undefined) return { order: "newest", from: null };
  const request = await findRequest(deps.store.db, after, { customerId, keyId });
  if (request === null) throw invalidField("after", `${after} is no request in the log`);
  return { order: "oldest", from: request.position };
}

function isPlace(value: unknown): value is RequestPlace {
  if (typeof value !== "object" || value === null || !("order" in value) || !("from" in value)) return false;
  return (value.order === "newest" || value.order === "oldest") && Number.isSafeInteger(value.from);
}
