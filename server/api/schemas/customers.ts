/** Bodies of the admin routes of customers and their numbers. */

import { Type } from "typebox";
import {
  type AddNumber as AddNumberBody,
  type CreateCustomer as CreateCustomerBody,
  PROVIDERS,
  type Route,
  type SetQuietHours as SetQuietHoursBody,
} from "../../../sdk/wire.ts";
import { closed, Email, IdempotencyKey, Phone, text, wire } from "./common.ts";

/** Longest name of a customer, a company, a key, in characters. */
const NAME_LENGTH_MAX = 200;

/** What people call a thing. */
export const Name = text(1, NAME_LENGTH_MAX);

export const CreateCustomer = wire<CreateCustomerBody>()(
  closed({
    name: Name,
    email: Type.Optional(Email),
    company: Type.Optional(Name),
    idempotencyKey: Type.Optional(IdempotencyKey),
  }),
);

/** Exactly one of `phoneNumber` and `email` is for the engine to see to. */
export const AddNumber = wire<AddNumberBody>()(
  closed({
    phoneNumber: Type.Optional(Phone),
    email: Type.Optional(Email),
    provider: Type.Enum([...PROVIDERS]),
    instanceId: Type.Optional(text(1, 128)),
    idempotencyKey: Type.Optional(IdempotencyKey),
  }),
);

const ClockTime = Type.String({ format: "clockTime", maxLength: 5 });

/** That `start` and `end` differ is for core to see to. */
export const SetQuietHours = wire<SetQuietHoursBody>()(
  closed({
    start: ClockTime,
    end: ClockTime,
    timeZone: Type.Optional(Type.String({ format: "timeZone", maxLength: 64 })),
  }),
);

const ROUTES_MAX = 1_000;

/** That an instance is there, has SMS, and is named once for a prefix, is for the engine to see to. */
export const SetRoutes = wire<Route[]>()(
  Type.Array(closed({ prefix: Type.String({ format: "prefix", maxLength: 16 }), instanceId: text(1, 128) }), {
    maxItems: ROUTES_MAX,
  }),
);
