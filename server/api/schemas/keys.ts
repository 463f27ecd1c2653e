/** Bodies of the admin routes of keys. */

import { Type } from "typebox";
import {
  type CreateKey as CreateKeyBody,
  KEY_PERMISSIONS,
  KEY_SCOPES,
  type RateLimit as RateLimitBody,
  type RotateKey as RotateKeyBody,
} from "../../../sdk/wire.ts";
import { closed, Email, IdempotencyKey, Instant, text, wire } from "./common.ts";
import { Name } from "./customers.ts";

/** As of the setting `TB_RATE_LIMIT`: a million requests, in a day, at the most. */
const RateLimit = wire<RateLimitBody>()(
  closed({
    limit: Type.Integer({ minimum: 1, maximum: 1_000_000 }),
    windowSeconds: Type.Integer({ minimum: 1, maximum: 86_400 }),
  }),
);

/** Whose key it is, and that `expiresAt` is yet to come, is for the engine to see to. */
export const CreateKey = wire<CreateKeyBody>()(
  closed({
    name: Name,
    customerId: Type.Optional(text(1, 128)),
    customerEmail: Type.Optional(Email),
    scope: Type.Optional(Type.Enum([...KEY_SCOPES])),
    permissions: Type.Optional(
      Type.Array(Type.Enum([...KEY_PERMISSIONS]), { minItems: 1, maxItems: KEY_PERMISSIONS.length }),
    ),
    rateLimit: Type.Optional(RateLimit),
    expiresAt: Type.Optional(Instant),
    idempotencyKey: Type.Optional(IdempotencyKey),
  }),
);

/** Longest time that a key works on after its rotation: 30 days. */
const GRACE_SECONDS_MAX = 2_592_000;

export const RotateKey = wire<RotateKeyBody>()(
  closed({
    gracePeriodSeconds: Type.Optional(Type.Integer({ minimum: 0, maximum: GRACE_SECONDS_MAX })),
    idempotencyKey: Type.Optional(IdempotencyKey),
  }),
);
