/** Bodies of the instance routes, and the settings of each provider. */

import { type TObject, Type } from "typebox";
import {
  PROVIDERS,
  type ProviderName,
  type CreateInstance as WireCreateInstance,
  type UpdateInstance as WireUpdateInstance,
} from "../../../sdk/wire.ts";
import { closed, IdempotencyKey, text, wire } from "./common.ts";

/** Any object: its provider's own schema judges it. */
const Config = Type.Unsafe<Record<string, unknown>>({ type: "object", maxProperties: 50, "x-bytesMax": 16_384 });

const NAME_LENGTH_MAX = 255;
/** An HTTP or HTTPS address; what an administrator configures is not guarded. */
const ServerUrl = Type.String({ maxLength: 2_048, format: "serverUrl" });
const Host = Type.String({ minLength: 1, maxLength: 253, format: "host" });
const Secret = text(1, 1_024);
const Octet = Type.Integer({ minimum: 0, maximum: 255 });

export const CreateInstance = wire<WireCreateInstance>()(
  closed({
    name: text(1, NAME_LENGTH_MAX),
    provider: Type.Enum(PROVIDERS),
    config: Config,
    idempotencyKey: Type.Optional(IdempotencyKey),
  }),
);

export const UpdateInstance = wire<WireUpdateInstance>()(
  closed({ name: Type.Optional(text(1, NAME_LENGTH_MAX)), config: Type.Optional(Config) }),
);

/** The settings of each provider. */
export const CONFIGS: Readonly<Record<ProviderName, TObject>> = {
  sandbox: closed({}),
  bluebubbles: closed({
    url: ServerUrl,
    password: Secret,
    ingest: Type.Enum(["webhook", "socket"] as const),
    // Apple takes note of who begins many conversations: within any hour so many, 60 unless given.
    newChatsPerHour: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000 })),
  }),
  smpp: closed({
    host: Host,
    port: Type.Integer({ minimum: 1, maximum: 65_535 }),
    // SMPP 3.4, 4.1.1: system_id holds 15 characters, password 8, system_type 12; some carriers give longer passwords.
    systemId: text(1, 15),
    password: Secret,
    systemType: Type.Optional(text(0, 12)),
    tls: Type.Optional(Type.Boolean()),
    bindMode: Type.Enum(["transceiver", "pair"] as const),
    windowSize: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000 })),
    throughputPerSecond: Type.Optional(Type.Number({ exclusiveMinimum: 0, maximum: 10_000 })),
    responseTimeoutSeconds: Type.Optional(Type.Integer({ minimum: 1, maximum: 300 })),
    enquireLinkSeconds: Type.Optional(Type.Integer({ minimum: 1, maximum: 3_600 })),
    messageIdBase: Type.Optional(Type.Enum(["same", "hexThenDecimal", "decimalThenHex"] as const)),
    longMessages: Type.Optional(Type.Enum(["udh", "sar", "payload"] as const)),
    udhReferenceBits: Type.Optional(Type.Enum([8, 16] as const)),
    latin1: Type.Optional(Type.Boolean()),
    tlsCa: Type.Optional(text(1, 8_192)),
    tlsServerName: Type.Optional(Host),
    // SMPP 3.4, 4.4.1: type of number and numbering plan are one octet each, an address holds 20, a service type 5.
    addressTon: Type.Optional(Octet),
    addressNpi: Type.Optional(Octet),
    addressRange: Type.Optional(text(0, 40)),
    sourceTon: Type.Optional(Octet),
    sourceNpi: Type.Optional(Octet),
    sourceAddress: Type.Optional(Type.String({ format: "sender" })),
    destinationTon: Type.Optional(Octet),
    destinationNpi: Type.Optional(Octet),
    serviceType: Type.Optional(Type.String({ pattern: "^[ -~]{0,5}$" })),
    validitySeconds: Type.Optional(Type.Integer({ minimum: 60, maximum: 2_592_000 })),
    unflaggedReceipts: Type.Optional(Type.Boolean()),
    ia5AsGsm: Type.Optional(Type.Boolean()),
    defaultCountryCode: Type.Optional(Type.String({ format: "countryCode" })),
  }),
  twilio: closed({
    accountSid: Type.String({ format: "accountSid" }),
    authToken: Secret,
    messagingServiceSid: Type.Optional(Type.String({ format: "messagingServiceSid" })),
    baseUrl: Type.Optional(ServerUrl),
  }),
};
