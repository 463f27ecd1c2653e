/** The request log: requests with an accepted key, their bodies, and the errors among them. */

import { type Static, Type } from "typebox";
import { ErrorCode } from "./errors.ts";
import { at, CORRELATION_ID, IDS } from "./samples.ts";
import {
  choice,
  closed,
  count,
  flag,
  at as instant,
  list,
  optional,
  orNull,
  record,
  says,
  string,
  stringOrNull,
  text,
} from "./schema.ts";
import { boundShown, Pagination, page } from "./values.ts";

/** Methods that a request in the log may have. */
export const REQUEST_METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] as const;
export const RequestMethod = choice("RequestMethod", REQUEST_METHODS, "A method of HTTP.");

const fields = {
  id: string("Id of the request: the `requestId` and `X-Request-Id` of its response."),
  method: string("Method, in capitals."),
  path: string("Path and query as they came, secrets and erased contacts masked."),
  route: stringOrNull("Pattern of the path, such as `/v1/messages/:id`; null if no route matched."),
  status: count("Status of the response; 499 if the client had gone before."),
  durationMs: Type.Number({ description: "Time from the request's headers to its response, in milliseconds." }),
  keyId: string("Id of the key."),
  customerId: stringOrNull("Id of the customer; null for an admin key."),
  correlationId: string("Correlation id of everything that the request led to."),
  errorCode: orNull(ErrorCode, "Code of the error; null for a success."),
  createdAt: instant("When the request came."),
  realAt: optional(instant("When it came in real time, if the sandbox's clock was ahead.")),
};

export const LoggedRequest = record("LoggedRequest", "A request in the log, without bodies.", fields);

export const LoggedBody = record("LoggedBody", "A body in the log.", {
  text: string(
    'The JSON text, secrets masked and files shortened: at most 4 KiB. `"erased"` if a contact was erased whom the request named.',
  ),
  truncated: flag("Whether the text ends before the body did."),
});

export const LoggedExchange = record("LoggedExchange", "A request in the log, with its bodies.", {
  ...fields,
  request: orNull(
    LoggedBody,
    "The request's body; null if there was none, bodies are not logged, or another key sent it.",
  ),
  response: orNull(
    LoggedBody,
    "The response's body; null for a stream, if bodies are not logged, or if another key sent the request.",
  ),
});

export const LoggedRequestList = record("LoggedRequestList", "A page of the request log.", {
  requests: list(LoggedRequest, "The requests of this page."),
  pagination: says(Pagination, "Where the list continues."),
});

export const RequestErrorGroup = record("RequestErrorGroup", "Refused requests with one code on one route.", {
  code: ErrorCode,
  method: string("Method, in capitals."),
  route: stringOrNull("Pattern of the path; null if no route matched."),
  status: count("Status of the responses."),
  count: count("How many there are."),
  lastAt: instant("When the newest one came."),
  lastId: string("Id of the newest one."),
});

export const RequestErrors = record("RequestErrors", "The errors of the request log, in groups.", {
  errors: list(RequestErrorGroup, "The groups, the largest first: at most 100."),
});

const bounds = {
  since: optional(text(1, 40, "Only requests since then: a date or an instant.", boundShown)),
  until: optional(text(1, 40, "Only requests until then: a date, inclusive, or an instant.", boundShown)),
};

const whose = {
  keyId: optional(text(1, 128, "Only this key; takes an admin key.")),
  customerId: optional(text(1, 128, "Only this customer; takes an admin key.")),
};

/** Query of `GET /v1/requests`. */
export const RequestsQuery = closed({
  ...page,
  after: optional(text(1, 128, "Only requests after this one, oldest first.")),
  status: optional(text(3, 3, "Only this status, or this class: `404`, `4xx`.", { pattern: "^[1-5](?:xx|[0-9]{2})$" })),
  method: optional(says(RequestMethod, "Only this method.")),
  path: optional(text(1, 512, "Only paths that begin with this.")),
  code: optional(says(ErrorCode, "Only this error code.")),
  correlationId: optional(text(1, 64, "Only this correlation id.")),
  messageId: optional(text(1, 100, "Only the request that created this message, and requests about the message.")),
  ...whose,
  ...bounds,
});

/** Query of `GET /v1/requests/errors`. */
export const RequestErrorsQuery = closed({ ...whose, ...bounds });

export const loggedRequestExample: Static<typeof LoggedRequest> = {
  id: IDS.request,
  method: "POST",
  path: "/v1/messages",
  route: "/v1/messages",
  status: 202,
  durationMs: 3.4,
  keyId: IDS.key,
  customerId: IDS.customer,
  correlationId: CORRELATION_ID,
  errorCode: null,
  createdAt: at(0),
};

export const loggedExchangeExample: Static<typeof LoggedExchange> = {
  ...loggedRequestExample,
  request: { text: '{"to":"+15005550101","content":{"text":"Your table is ready."}}', truncated: false },
  response: { text: `{"success":true,"data":{"id":"${IDS.message}","status":"queued"}}`, truncated: false },
};

export const requestErrorExample: Static<typeof RequestErrorGroup> = {
  code: "VALIDATION_ERROR",
  method: "POST",
  route: "/v1/messages",
  status: 400,
  count: 3,
  lastAt: at(5),
  lastId: IDS.request,
};
