/** Provider instances: their records, and the settings of each provider. */

import { type Static, type TObject, Type } from "typebox";
import { at, IDS } from "./samples.ts";
import {
  atOrNull,
  choice,
  closed,
  count,
  flag,
  id,
  list,
  NAME,
  optional,
  record,
  request,
  SHOWN,
  says,
  shows,
  string,
  stringOrNull,
  text,
} from "./schema.ts";
import { AnyObject, changed, IdempotencyKey, Pagination } from "./values.ts";

export const PROVIDERS = ["sandbox", "bluebubbles", "smpp", "twilio"] as const;
export const ProviderName = choice("ProviderName", PROVIDERS, "A provider.");

export const HEALTH_STATUSES = ["healthy", "degraded", "unhealthy", "unknown"] as const;
export const HealthStatus = choice("HealthStatus", HEALTH_STATUSES, "Health of a provider instance.");

const NAME_LENGTH_MAX = 255;
const Name = text(1, NAME_LENGTH_MAX, "Display name.");

/** An HTTP or HTTPS URL. URLs that an administrator configures may be private. */
const serverUrl = (description: string) =>
  Type.String({
    maxLength: 2_048,
    format: "serverUrl",
    description,
    [SHOWN]: { format: "uri", pattern: "^https?://[^\\s/@\\x00]+(?:/[^\\s\\x00]*)?$" },
  });
const host = (description: string) =>
  Type.String({ minLength: 1, maxLength: 253, format: "host", description, [SHOWN]: { pattern: "^[^\\s/@\\x00]+$" } });
const patterned = (format: string, pattern: string, description: string) =>
  Type.String({ format, description, [SHOWN]: { pattern } });
const octet = (description: string) => optional(count(description, { minimum: 0, maximum: 255 }));
const secret = (description: string) => text(1, 1_024, description);

const Sandbox = closed({}, { [NAME]: "SandboxConfig", "x-about": "The sandbox has no settings." });

const Bluebubbles = request("BluebubblesConfig", "Settings of a BlueBubbles server.", {
  url: serverUrl("URL of the BlueBubbles server."),
  password: secret("Password of the server."),
  ingest: Type.Enum(["webhook", "socket"] as const, { description: "How events are received." }),
  newChatsPerHour: optional(
    count("Most new conversations within any hour; further messages wait. Default: 15.", {
      minimum: 1,
      maximum: 1_000,
    }),
  ),
});

// SMPP 3.4, 4.1.1: system_id holds 15 characters, password 8, system_type 12; some carriers give longer passwords.
// SMPP 3.4, 4.4.1: type of number and numbering plan are one octet each, an address holds 20, a service type 5.
const Smpp = request("SmppConfig", "Settings of an SMPP connection.", {
  host: host("Host of the carrier."),
  port: count("Port of the carrier.", { minimum: 1, maximum: 65_535 }),
  systemId: text(1, 15, "`system_id`, as the carrier gave it."),
  password: secret("Password, as the carrier gave it."),
  systemType: optional(text(0, 12, "`system_type`, as the carrier gave it.")),
  tls: optional(flag("Whether to connect by TLS.")),
  bindMode: Type.Enum(["transceiver", "pair"] as const, {
    description: "One connection for both directions, or one for each.",
  }),
  windowSize: optional(count("Most requests that may wait for their response.", { minimum: 1, maximum: 1_000 })),
  throughputPerSecond: optional(
    Type.Number({ exclusiveMinimum: 0, maximum: 10_000, description: "Most messages a second." }),
  ),
  responseTimeoutSeconds: optional(count("How long to wait for a response.", { minimum: 1, maximum: 300 })),
  enquireLinkSeconds: optional(count("Interval of `enquire_link`.", { minimum: 1, maximum: 3_600 })),
  messageIdBase: optional(
    Type.Enum(["same", "hexThenDecimal", "decimalThenHex"] as const, {
      description: "How message ids in receipts relate to those in responses.",
    }),
  ),
  longMessages: optional(
    Type.Enum(["udh", "sar", "payload"] as const, { description: "How long messages are split." }),
  ),
  udhReferenceBits: optional(
    Type.Enum([8, 16] as const, {
      description: "Bits of the reference number that the parts of a long message share. Default: 8.",
    }),
  ),
  latin1: optional(flag("Whether text outside GSM-7 may be sent as Latin-1.")),
  tlsCa: optional(text(1, 8_192, "PEM of the certificate authority to trust, if it is not a well-known one.")),
  tlsServerName: optional(host("Name in the certificate, if it is not the host.")),
  addressTon: octet("Type of number in the bind. Default: 0."),
  addressNpi: octet("Numbering plan in the bind. Default: 0."),
  addressRange: optional(text(0, 40, "Addresses that the bind serves. Default: empty.")),
  sourceTon: octet("Type of number of the sender. Default: by the form of the sender."),
  sourceNpi: octet("Numbering plan of the sender. Default: by the form of the sender."),
  sourceAddress: optional(
    patterned("sender", "^[A-Za-z0-9 +._&-]{1,20}$", "Sender in place of the number: a short code or a name."),
  ),
  destinationTon: octet("Type of number of the recipient. Default: 1."),
  destinationNpi: octet("Numbering plan of the recipient. Default: 1."),
  serviceType: optional(
    Type.String({ pattern: "^[ -~]{0,5}$", description: "`service_type`, as the carrier gave it. Default: empty." }),
  ),
  validitySeconds: optional(
    count("How long the carrier tries to deliver a message.", { minimum: 60, maximum: 2_592_000 }),
  ),
  unflaggedReceipts: optional(flag("Whether a text in the form of a receipt counts as one without the flag.")),
  defaultAlphabet: optional(
    Type.Enum(["gsm", "latin1", "ascii"] as const, {
      description: "Alphabet of `data_coding` 0 at the carrier, in both directions. Default: `gsm`.",
    }),
  ),
  ia5AsGsm: optional(flag("Whether `data_coding` 1 of inbound messages means the GSM alphabet.")),
  defaultCountryCode: optional(
    patterned("countryCode", "^[1-9]\\d{0,2}$", "Country code of inbound numbers that have none."),
  ),
});

const Twilio = request("TwilioConfig", "Settings of a Twilio account.", {
  accountSid: patterned("accountSid", "^AC[0-9a-fA-F]{32}$", "Account SID, as Twilio gave it."),
  authToken: secret("Auth token, as Twilio gave it."),
  messagingServiceSid: optional(
    patterned("messagingServiceSid", "^MG[0-9a-fA-F]{32}$", "SID of the messaging service to send through."),
  ),
  baseUrl: optional(serverUrl("Another URL of the API.")),
  ownConfirmation: optional(
    flag("Whether the service answers STOP and HELP, because opt-out handling is off at Twilio (default: false)."),
  ),
});

/** The settings of each provider, which the service checks by the provider of the instance. */
export const providerConfigs: Readonly<Record<(typeof PROVIDERS)[number], TObject>> = {
  sandbox: Sandbox,
  bluebubbles: Bluebubbles,
  smpp: Smpp,
  twilio: Twilio,
};

/** Any object: its provider's own schema checks it. */
const Config = Type.Unsafe<Record<string, unknown>>({
  type: "object",
  maxProperties: 50,
  "x-bytesMax": 16_384,
  description: "Settings of the provider.",
});

/** The document shows the settings of each provider as `config`. */
const shownConfig = { instead: Type.Union(Object.values(providerConfigs)) };

/** `config` is that of the provider. */
const ofItsProvider = {
  anyOf: Object.entries(providerConfigs).map(([provider, schema]) => {
    const { [NAME]: name } = schema as unknown as Record<string, string>;
    return { properties: { provider: { const: provider }, config: { $ref: `#/components/schemas/${name}` } } };
  }),
};

export const CreateInstance = request(
  "CreateInstance",
  "Body of `POST /v1/admin/instances`.",
  {
    name: Name,
    provider: says(ProviderName, "Provider of the instance."),
    config: Type.Unsafe<Record<string, unknown>>({ ...Config, [SHOWN]: shownConfig }),
    idempotencyKey: optional(IdempotencyKey),
  },
  { allOf: [ofItsProvider] },
);

export const UpdateInstance = request(
  "UpdateInstance",
  "Body of `PATCH /v1/admin/instances/:id`: what `config` names is changed, the rest stays.",
  {
    name: optional(Name),
    config: optional(shows(Config, { propertyNames: { pattern: "^[A-Za-z][A-Za-z0-9]*$" } })),
  },
);

export const Instance = record("Instance", "A provider instance. `config` is without its secrets.", {
  id: id("inst"),
  name: string("Display name."),
  provider: says(ProviderName, "Provider of the instance."),
  config: says(AnyObject, "Settings of the provider, without its secrets."),
  health: says(HealthStatus, "Health of the instance."),
  warnings: list(Type.String(), "Problems for the operator to fix, in words."),
  lastEventAt: atOrNull(
    "When the peer last sent an event, such as a receipt or a message; null if it sent none yet. What the service found by asking does not count.",
  ),
  hookUrl: stringOrNull("URL to configure at the provider, which calls it with what happens; null if it needs none."),
  ...changed,
});

export const InstanceList = record("InstanceList", "A page of instances.", {
  instances: list(Instance, "The instances of this page."),
  pagination: says(Pagination, "Where the list continues."),
});

export const instanceExample: Static<typeof Instance> = {
  id: IDS.instance,
  name: "Carrier",
  provider: "smpp",
  config: { host: "smpp.example.com", port: 2775, systemId: "bistro", bindMode: "transceiver" },
  health: "healthy",
  warnings: [],
  lastEventAt: at(0),
  hookUrl: null,
  createdAt: at(0),
  updatedAt: at(0),
};
