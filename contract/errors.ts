/** Errors: every code with its HTTP status and its sentence, and the envelope that carries them. */

import { type Static, Type } from "typebox";
import { IDS } from "./samples.ts";
import { list, optional, record, string, TYPESCRIPT } from "./schema.ts";

/** Error codes with the HTTP status of each. */
export const ERROR_STATUS = {
  VALIDATION_ERROR: 400,
  INVALID_JSON: 400,
  INVALID_PHONE_NUMBER: 400,
  INVALID_RECIPIENT: 400,
  NO_DEFAULT_ADDRESS: 400,
  CHANNEL_NOT_SUPPORTED: 400,
  NO_CHANNEL_AVAILABLE: 400,
  GROUP_SMS_UNSUPPORTED: 400,
  INVALID_STATUS: 400,
  NOT_SCHEDULED: 400,
  INVALID_SCHEDULED_AT: 400,
  SCHEDULED_IN_PAST: 400,
  SCHEDULED_TOO_FAR: 400,
  UNAUTHORIZED: 401,
  FORBIDDEN: 403,
  ADDRESS_NOT_AUTHORIZED: 403,
  RECIPIENT_OPTED_OUT: 403,
  NOT_FOUND: 404,
  REPLY_NOT_FOUND: 404,
  CONVERSATION_NOT_FOUND: 404,
  WEBHOOK_NOT_FOUND: 404,
  WEBHOOK_NOT_CONFIGURED: 404,
  METHOD_NOT_ALLOWED: 405,
  REQUEST_TIMEOUT: 408,
  IDEMPOTENCY_KEY_REUSED: 409,
  ALREADY_UNSENT: 409,
  ALREADY_DELETED: 409,
  WEBHOOK_DUPLICATE: 409,
  CONTACT_DUPLICATE: 409,
  NUMBER_TAKEN: 409,
  OUTCOME_UNKNOWN: 409,
  CLOCK_LOCKED: 409,
  REPLAY_RUNNING: 409,
  CONVERSATION_NOT_READY: 409,
  PAYLOAD_TOO_LARGE: 413,
  URI_TOO_LONG: 414,
  UNSUPPORTED_MEDIA_TYPE: 415,
  RATE_LIMITED: 429,
  HEADERS_TOO_LARGE: 431,
  INTERNAL_ERROR: 500,
  PROVIDER_ERROR: 502,
  EDIT_FAILED: 502,
  SERVICE_UNAVAILABLE: 503,
  PROVIDER_TIMEOUT: 504,
} as const;

type Code = keyof typeof ERROR_STATUS;

/** When each code is returned, and what to do about it. */
export const errorSentences: Readonly<Record<Code, string>> = {
  VALIDATION_ERROR: "A field, parameter or header is missing, unknown or invalid; `details` lists every one.",
  INVALID_JSON: "The body is not JSON or not UTF-8, or an object in it names a field twice.",
  INVALID_PHONE_NUMBER: "The address is neither a possible phone number in E.164 form nor an e-mail address.",
  INVALID_RECIPIENT: "The request names no recipient, or more than one.",
  NO_DEFAULT_ADDRESS: "The request has no `from`, and the customer has no number.",
  CHANNEL_NOT_SUPPORTED: "The channel does not support this action.",
  NO_CHANNEL_AVAILABLE: "`routing.preference` names no channel that the sending number has.",
  GROUP_SMS_UNSUPPORTED: "Groups exist on iMessage only.",
  INVALID_STATUS: "The action is not possible in the record's present status.",
  NOT_SCHEDULED: "The message is not scheduled, or no longer scheduled.",
  INVALID_SCHEDULED_AT: "`scheduledAt` is not an ISO 8601 instant with `Z` or an offset.",
  SCHEDULED_IN_PAST: "`scheduledAt` is not in the future.",
  SCHEDULED_TOO_FAR: "`scheduledAt` is more than 30 days ahead.",
  UNAUTHORIZED: "The key is missing, malformed, unknown, revoked or expired.",
  FORBIDDEN: "The key is valid, but its scope or permissions do not allow this request.",
  ADDRESS_NOT_AUTHORIZED: "`from` is not one of the customer's numbers.",
  RECIPIENT_OPTED_OUT: "The recipient has opted out of messages from this number.",
  NOT_FOUND: "The key's customer has no such record.",
  REPLY_NOT_FOUND: "`replyTo` names no message of the customer.",
  CONVERSATION_NOT_FOUND: "The chat does not exist.",
  WEBHOOK_NOT_FOUND: "No endpoint has this id.",
  WEBHOOK_NOT_CONFIGURED: "The customer has no primary endpoint yet: `PUT /v1/webhooks` creates it.",
  METHOD_NOT_ALLOWED: "The path exists, but not with this method; `Allow` lists the methods that do.",
  REQUEST_TIMEOUT: "The request did not arrive in time.",
  IDEMPOTENCY_KEY_REUSED: "The idempotency key was used for another request.",
  ALREADY_UNSENT: "The message was unsent before.",
  ALREADY_DELETED: "The message was deleted before.",
  WEBHOOK_DUPLICATE: "An active endpoint with this URL and the same set of events exists.",
  CONTACT_DUPLICATE: "Another contact has this phone number or e-mail address.",
  NUMBER_TAKEN: "The number already belongs to a customer.",
  OUTCOME_UNKNOWN: "The message may have been sent: `mayDuplicate` accepts that it is sent twice.",
  CLOCK_LOCKED: "The clock cannot be moved while a real provider is connected.",
  REPLAY_RUNNING: "A replay of this endpoint is running; `message` names its id.",
  CONVERSATION_NOT_READY: "The provider does not know the conversation yet; try again shortly.",
  PAYLOAD_TOO_LARGE: "The body is too large, nested too deeply, or has too many fields.",
  URI_TOO_LONG: "The URL, or a parameter of its path, is too long.",
  UNSUPPORTED_MEDIA_TYPE: "The body is not sent as `Content-Type: application/json`.",
  RATE_LIMITED: "The key has used up its requests of this window; wait `Retry-After` seconds.",
  HEADERS_TOO_LARGE: "The headers of the request are too large, or too many.",
  INTERNAL_ERROR: "The service failed; quote the `requestId` when you report it.",
  PROVIDER_ERROR: "The provider refused the action.",
  EDIT_FAILED: "The provider could not edit the message.",
  SERVICE_UNAVAILABLE:
    "The service is overloaded, out of disk space or shutting down, and did nothing. Wait `Retry-After` seconds.",
  PROVIDER_TIMEOUT: "The provider did not respond in time.",
};

export const ErrorCode = Type.Enum(Object.keys(ERROR_STATUS) as Code[], {
  "x-name": "ErrorCode",
  "x-about": "Decide by this code: its meaning never changes.",
  [TYPESCRIPT]: "keyof typeof ERROR_STATUS",
});

export const ErrorDetail = record("ErrorDetail", "One invalid field of a request.", {
  path: string("The field, such as `content.text`."),
  message: string("The rule that the field breaks."),
});

export const Failure = record("Error", "Envelope of every error.", {
  success: Type.Literal(false, { description: "Always false." }),
  error: Type.Object(
    {
      code: ErrorCode,
      message: string("Explanation for people; its wording may change."),
      details: optional(list(ErrorDetail, "Every invalid field, at most 100.", { maxItems: 100 })),
    },
    { description: "The error." },
  ),
  requestId: string("Id of the request in the log of the service."),
});

/** An error with this code, as it could be returned. */
export function failureExample(code: Code): Static<typeof Failure> {
  const requestId = IDS.request;
  if (code === "VALIDATION_ERROR") {
    const details = [{ path: "limit", message: "must be 1 to 100; got 1000" }];
    return { success: false, error: { code, message: "limit: must be 1 to 100; got 1000", details }, requestId };
  }
  return { success: false, error: { code, message: errorSentences[code].replaceAll("`", "") }, requestId };
}
