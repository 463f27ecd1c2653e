/** What each error code says, in one sentence for the reference; an example of a refusal. */

import type { ErrorCode, Failure } from "../../../sdk/wire.ts";
import { IDS } from "./samples.ts";

/** When a code is answered, and what to do. */
export const ERROR_SENTENCES: Readonly<Record<ErrorCode, string>> = {
  VALIDATION_ERROR: "A field, parameter or header is missing, unknown or not what it should be; `details` names all.",
  INVALID_JSON: "The body is not JSON, or not UTF-8.",
  INVALID_PHONE_NUMBER: "The address is neither a possible phone number in E.164 form nor an e-mail address.",
  INVALID_RECIPIENT: "There is no recipient, or more than one way to name it.",
  NO_DEFAULT_ADDRESS: "No `from` was given, and the customer has no number.",
  CHANNEL_NOT_SUPPORTED: "The channel cannot do this.",
  NO_CHANNEL_AVAILABLE: "`routing.preference` names no channel that the sending number has.",
  GROUP_SMS_UNSUPPORTED: "Groups are for iMessage.",
  INVALID_STATUS: "This is not possible in the status that the record has.",
  NOT_SCHEDULED: "The message is not scheduled, or no longer.",
  INVALID_SCHEDULED_AT: "`scheduledAt` is no ISO 8601 instant with `Z` or an offset.",
  SCHEDULED_IN_PAST: "`scheduledAt` is not in the future.",
  SCHEDULED_TOO_FAR: "`scheduledAt` is more than 30 days ahead.",
  UNAUTHORIZED: "The key is missing, malformed, unknown, revoked or expired.",
  FORBIDDEN: "The key is good, but its scope or its permissions are not for this.",
  ADDRESS_NOT_AUTHORIZED: "`from` is not one of the customer's numbers.",
  RECIPIENT_OPTED_OUT: "The recipient does not want messages from this number.",
  NOT_FOUND: "There is no such record among those of the key's customer.",
  REPLY_NOT_FOUND: "`replyTo` names no message of the customer.",
  CONVERSATION_NOT_FOUND: "There is no such chat.",
  WEBHOOK_NOT_FOUND: "There is no endpoint with this id.",
  WEBHOOK_NOT_CONFIGURED: "There is no webhook configuration yet: `PUT /v1/webhooks` makes it.",
  METHOD_NOT_ALLOWED: "The path exists, the method on it does not; `Allow` names those that do.",
  REQUEST_TIMEOUT: "The request did not arrive in time.",
  IDEMPOTENCY_KEY_REUSED: "The idempotency key was used for another request.",
  ALREADY_UNSENT: "The message was taken back before.",
  ALREADY_DELETED: "The message was deleted before.",
  WEBHOOK_DUPLICATE: "An active endpoint with this address and the same set of events exists.",
  CONTACT_DUPLICATE: "Another contact has this phone number or e-mail address.",
  NUMBER_TAKEN: "The number belongs to a customer already.",
  OUTCOME_UNKNOWN: "The message may have been sent: `mayDuplicate` accepts that it is sent twice.",
  CLOCK_LOCKED: "The clock stays real while a real provider is connected.",
  CONVERSATION_NOT_READY: "The provider does not know the conversation yet; try again shortly.",
  PAYLOAD_TOO_LARGE: "The body is too large, too deep, or has too many fields.",
  URI_TOO_LONG: "The address, or a parameter of its path, is too long.",
  UNSUPPORTED_MEDIA_TYPE: "The body is not sent as `Content-Type: application/json`.",
  RATE_LIMITED: "The key has used up its requests for now; wait for `Retry-After` seconds.",
  HEADERS_TOO_LARGE: "The headers of the request are too large, or too many.",
  INTERNAL_ERROR: "A fault of the service; quote the `requestId`.",
  PROVIDER_ERROR: "The provider refused what was asked of it.",
  EDIT_FAILED: "The provider could not edit the message.",
  SERVICE_UNAVAILABLE:
    "The service is overloaded, out of room or shutting down; nothing was done. Wait for `Retry-After` seconds.",
  PROVIDER_TIMEOUT: "The provider did not answer in time.",
};

/** A refusal with this code, as it could be answered. */
export function failureExample(code: ErrorCode): Failure {
  const details = [{ path: "limit", message: "must be 1 to 100; got 1000" }];
  const message = ERROR_SENTENCES[code].replaceAll("`", "");
  return {
    success: false,
    error:
      code === "VALIDATION_ERROR" ? { code, message: "limit: must be 1 to 100; got 1000", details } : { code, message },
    requestId: IDS.request,
  };
}
