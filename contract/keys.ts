/** API keys. */

import { type Static, Type } from "typebox";
import { Name } from "./customers.ts";
import { at, IDS } from "./samples.ts";
import {
  absent,
  atOrNull,
  choice,
  count,
  id,
  list,
  optional,
  orNull,
  record,
  request,
  says,
  string,
  stringOrNull,
  text,
} from "./schema.ts";
import { created, Email, IdempotencyKey, Instant, Pagination } from "./values.ts";

/** Longest time that a key keeps working after its rotation: 30 days. */
const GRACE_SECONDS_MAX = 2_592_000;

export const KEY_SCOPES = ["messages", "admin"] as const;
export const KeyScope = choice("KeyScope", KEY_SCOPES, "Scope of a key: a customer's routes, or `/v1/admin`.");

export const KEY_PERMISSIONS = ["read", "send", "webhooks"] as const;
export const KeyPermission = choice(
  "KeyPermission",
  KEY_PERMISSIONS,
  "Permission of a customer's key: read, change messages and records, configure webhooks.",
);

export const RateLimit = request("RateLimit", "A rate limit: so many requests in each window.", {
  limit: count("Requests in one window.", { minimum: 1, maximum: 1_000_000 }),
  windowSeconds: count("Length of a window in seconds.", { minimum: 1, maximum: 86_400 }),
});

export const CreateKey = request(
  "CreateKey",
  "Body of `POST /v1/admin/keys`. A `messages` key needs `customerId` or `customerEmail`.",
  {
    name: Name,
    customerId: optional(text(1, 128, "The customer; or give `customerEmail`.")),
    customerEmail: optional(says(Email, "The customer, by e-mail address.")),
    scope: optional(says(KeyScope, "Scope of the key: `messages` for one customer, or `admin`. Default: `messages`.")),
    permissions: optional(
      list(KeyPermission, "Permissions of a `messages` key. Default: all of them.", {
        minItems: 1,
        maxItems: KEY_PERMISSIONS.length,
      }),
    ),
    rateLimit: optional(says(RateLimit, "Rate limit of the key. Default: that of the service.")),
    expiresAt: optional(says(Instant, "When the key expires. Default: never.")),
    idempotencyKey: optional(IdempotencyKey),
  },
  {
    allOf: [
      {
        anyOf: [
          {
            required: ["customerId"],
            properties: { customerId: {}, customerEmail: absent, scope: { const: "messages" } },
          },
          {
            required: ["customerEmail"],
            properties: { customerEmail: {}, customerId: absent, scope: { const: "messages" } },
          },
          {
            required: ["scope"],
            properties: { scope: { const: "admin" }, customerId: absent, customerEmail: absent, permissions: absent },
          },
        ],
      },
    ],
  },
);

export const RotateKey = request("RotateKey", "Body of `POST /v1/admin/keys/:id/rotate`.", {
  gracePeriodSeconds: optional(
    count("How long the old key keeps working. Default: one day.", { minimum: 0, maximum: GRACE_SECONDS_MAX }),
  ),
  idempotencyKey: optional(IdempotencyKey),
});

export const Key = record("Key", "An API key.", {
  id: id("key"),
  name: string("Display name."),
  customerId: orNull(id("cust"), "The customer; null for an admin key."),
  scope: says(KeyScope, "`messages` for a customer, or `admin`."),
  permissions: list(KeyPermission, "Permissions of the key; empty for an admin key."),
  last4: string("Last four characters of the key."),
  rateLimit: orNull(
    Type.Object(
      { limit: count("Requests in one window."), windowSeconds: count("Length of a window in seconds.") },
      { "x-typescript": "RateLimit" },
    ),
    "Rate limit of the key; null if it has that of the service.",
  ),
  ...created,
  lastUsedAt: atOrNull("When the key was last used; null if it never was."),
  expiresAt: atOrNull("When the key expires; null if it never does."),
  revokedAt: atOrNull("When the key was revoked; null while it is not."),
  replacedBy: stringOrNull("Id of the key that replaces this one."),
  key: optional(
    Type.String({
      pattern: "^tb_[A-Za-z0-9]{32,}$",
      description: "The key itself; only in the response that created it.",
    }),
  ),
});

export const KeyList = record("KeyList", "A page of keys.", {
  keys: list(Key, "The keys of this page."),
  pagination: says(Pagination, "Where the list continues."),
});

/** Has the form of a key and is none. */
export const clearKeyExample = `tb_${"EXAMPLE0".repeat(5)}`;

export const keyExample: Static<typeof Key> = {
  id: IDS.key,
  name: "Booking system",
  customerId: IDS.customer,
  scope: "messages",
  permissions: ["read", "send", "webhooks"],
  last4: "PLE0",
  rateLimit: null,
  createdAt: at(0),
  lastUsedAt: null,
  expiresAt: null,
  revokedAt: null,
  replacedBy: null,
};
