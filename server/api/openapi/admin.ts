/** Reference of what an admin key is for: customers, their numbers and keys, provider instances, usage. */

import { Type } from "typebox";
import {
  HEALTH_STATUSES,
  KEY_PERMISSIONS,
  KEY_SCOPES,
  PROVIDERS,
  type Customer as WireCustomer,
  type CustomerList as WireCustomerList,
  type CustomerNumber as WireCustomerNumber,
  type CustomerWithNumbers as WireCustomerWithNumbers,
  type Instance as WireInstance,
  type InstanceList as WireInstanceList,
  type Key as WireKey,
  type KeyList as WireKeyList,
  type Usage as WireUsage,
  type UsageCounts as WireUsageCounts,
  type UsagePoint as WireUsagePoint,
} from "../../../sdk/wire.ts";
import { wire } from "../schemas/common.ts";
import { CONFIGS } from "../schemas/instances.ts";
import { ruleOperations } from "./customer-rules.ts";
import { Deleted } from "./messages.ts";
import {
  AnyObject,
  At,
  AtOrNull,
  COMPONENT,
  component,
  id,
  operation,
  orNull,
  Pagination,
  type Section,
  TextOrNull,
} from "./operation.ts";
import { at, IDS, LAST_PAGE, OWN } from "./samples.ts";

const CustomerNumber = wire<WireCustomerNumber>()(
  component("CustomerNumber", {
    id: id("num"),
    phoneNumber: TextOrNull,
    email: TextOrNull,
    provider: Type.Enum(PROVIDERS),
    instanceId: id("inst"),
    capabilities: Type.Object({ imessage: Type.Boolean(), sms: Type.Boolean() }),
    isDefault: Type.Boolean(),
    createdAt: At,
  }),
);

const customerFields = { id: id("cust"), name: Type.String(), email: TextOrNull, company: TextOrNull, createdAt: At };

const Customer = wire<WireCustomer>()(component("Customer", customerFields));

const CustomerWithNumbers = wire<WireCustomerWithNumbers>()(
  component("CustomerWithNumbers", {
    ...customerFields,
    numbers: Type.Array(CustomerNumber),
    warnings: Type.Array(Type.String()),
  }),
);

const CustomerList = wire<WireCustomerList>()(
  component("CustomerList", { customers: Type.Array(Customer), pagination: Pagination }),
);

const Key = wire<WireKey>()(
  component("Key", {
    id: id("key"),
    name: Type.String(),
    customerId: orNull(id("cust")),
    scope: Type.Enum(KEY_SCOPES),
    permissions: Type.Array(Type.Enum(KEY_PERMISSIONS)),
    last4: Type.String(),
    rateLimit: orNull(Type.Object({ limit: Type.Integer(), windowSeconds: Type.Integer() })),
    createdAt: At,
    lastUsedAt: AtOrNull,
    expiresAt: AtOrNull,
    revokedAt: AtOrNull,
    replacedBy: TextOrNull,
    key: Type.Optional(Type.String({ pattern: "^tb_[A-Za-z0-9]{32,}$" })),
  }),
);

const KeyList = wire<WireKeyList>()(component("KeyList", { keys: Type.Array(Key), pagination: Pagination }));

const Instance = wire<WireInstance>()(
  component("Instance", {
    id: id("inst"),
    name: Type.String(),
    provider: Type.Enum(PROVIDERS),
    config: AnyObject,
    health: Type.Enum(HEALTH_STATUSES),
    warnings: Type.Array(Type.String()),
    hookUrl: TextOrNull,
    createdAt: At,
    updatedAt: At,
  }),
);

const InstanceList = wire<WireInstanceList>()(
  component("InstanceList", { instances: Type.Array(Instance), pagination: Pagination }),
);

const Count = Type.Integer({ minimum: 0 });

const counts = {
  requests: Count,
  rateLimited: Count,
  messagesSent: Count,
  segments: Count,
  messagesReceived: Count,
  webhooksDelivered: Count,
  webhooksFailed: Count,
};

const Usage = wire<WireUsage>()(
  component("Usage", {
    key: orNull(Type.Object({ id: Type.String(), name: Type.String() })),
    period: Type.Object({ from: At, to: At }),
    totals: wire<WireUsageCounts>()(component("UsageCounts", counts)),
    series: Type.Array(Type.Unsafe<WireUsagePoint>(component("UsagePoint", { at: At, ...counts }))),
  }),
);

const customer: WireCustomer = {
  id: IDS.customer,
  name: "Bistro Ada",
  email: "it@bistro.example",
  company: null,
  createdAt: at(0),
};

const number: WireCustomerNumber = {
  id: IDS.number,
  phoneNumber: OWN,
  email: null,
  provider: "sandbox",
  instanceId: IDS.instance,
  capabilities: { imessage: true, sms: true },
  isDefault: true,
  createdAt: at(0),
};

/** Of the right form, and of no key that there is. */
const clearKey = `tb_${"EXAMPLE0".repeat(5)}`;

const key: WireKey = {
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

const instance: WireInstance = {
  id: IDS.instance,
  name: "Carrier",
  provider: "smpp",
  config: { host: "smpp.example.com", port: 2775, systemId: "bistro", bindMode: "transceiver" },
  health: "healthy",
  warnings: [],
  hookUrl: null,
  createdAt: at(0),
  updatedAt: at(0),
};

const used: WireUsageCounts = {
  requests: 41,
  rateLimited: 0,
  messagesSent: 20,
  segments: 22,
  messagesReceived: 7,
  webhooksDelivered: 88,
  webhooksFailed: 1,
};

/** The settings of every provider, each under its name. */
const Config = Type.Union(
  Object.entries(CONFIGS).map(([name, schema]) => ({
    ...schema,
    [COMPONENT]: `${name[0]?.toUpperCase()}${name.slice(1)}Config`,
  })),
);

export const customers: Section = {
  tag: "Customers",
  description: "Who uses this service, and the numbers they send from. Takes an admin key.",
  parameters: {
    id: { description: "The customer.", example: IDS.customer },
    numberId: { description: "The number's id.", example: IDS.number },
  },
  operations: {
    "POST /v1/admin/customers": operation({
      id: "createCustomer",
      summary: "Make a customer",
      description: "Then give it a number, and a key.",
      status: 201,
      answer: Customer,
      example: customer,
      body: { name: "Bistro Ada", email: "it@bistro.example" },
    }),
    "GET /v1/admin/customers": operation({
      id: "listCustomers",
      summary: "List customers",
      description: "Newest first.",
      answer: CustomerList,
      example: { customers: [customer], pagination: LAST_PAGE },
    }),
    "GET /v1/admin/customers/:id": operation({
      id: "getCustomer",
      summary: "Get a customer",
      description: "With its numbers.",
      answer: CustomerWithNumbers,
      example: { ...customer, numbers: [number], warnings: [] },
    }),
    "POST /v1/admin/customers/:id/numbers": operation({
      id: "addNumber",
      summary: "Give a customer a number",
      description:
        "Exactly one of `phoneNumber` and `email`. A number belongs to one customer. The first is the default.",
      status: 201,
      answer: CustomerNumber,
      example: number,
      errors: ["NUMBER_TAKEN"],
      body: { phoneNumber: OWN, provider: "sandbox" },
    }),
    "DELETE /v1/admin/customers/:id/numbers/:numberId": operation({
      id: "removeNumber",
      summary: "Take a number away",
      description: "Messages that wait to be sent from it still go out.",
      answer: Deleted,
      example: { id: IDS.number, deleted: true },
    }),
    "PUT /v1/admin/customers/:id/numbers/:numberId/default": operation({
      id: "makeDefaultNumber",
      summary: "Make a number the default",
      description: "The one that messages without `from` are sent from.",
      answer: CustomerNumber,
      example: number,
    }),
    ...ruleOperations,
  },
};

export const keys: Section = {
  tag: "Keys",
  description: "Who may ask. Of a key only a hash and its last four characters are kept. Takes an admin key.",
  parameters: { id: { description: "The key's id, not the key.", example: IDS.key } },
  operations: {
    "POST /v1/admin/keys": operation({
      id: "createKey",
      summary: "Make a key",
      description:
        "For a customer, or with the scope `admin` for nobody in particular. `permissions` narrow a customer's key: `read` opens every GET, `webhooks` everything under `/v1/webhooks`, `send` whatever else changes something. `key` is shown this once.",
      status: 201,
      answer: Key,
      example: { ...key, key: clearKey },
      errors: ["NOT_FOUND"],
      body: { name: "Booking system", customerId: IDS.customer },
    }),
    "GET /v1/admin/keys": operation({
      id: "listKeys",
      summary: "List keys",
      description: "Newest first, revoked ones too; never the keys themselves.",
      answer: KeyList,
      example: { keys: [key], pagination: LAST_PAGE },
    }),
    "DELETE /v1/admin/keys/:id": operation({
      id: "revokeKey",
      summary: "Revoke a key",
      description: "At once: within a second in every process, open event streams included.",
      answer: Key,
      example: { ...key, revokedAt: at(90) },
    }),
    "POST /v1/admin/keys/:id/rotate": operation({
      id: "rotateKey",
      summary: "Rotate a key",
      description: "A new key for the same customer, scope and limit; the old one works until the grace ends.",
      status: 201,
      answer: Key,
      example: { ...key, key: clearKey },
      errors: ["INVALID_STATUS"],
      body: { gracePeriodSeconds: 86_400 },
    }),
  },
};

export const instances: Section = {
  tag: "Instances",
  description: "Connections to providers. Their secrets are sealed on disk and never answered. Takes an admin key.",
  parameters: { id: { description: "The instance.", example: IDS.instance } },
  operations: {
    "POST /v1/admin/instances": operation({
      id: "createInstance",
      summary: "Connect a provider",
      description: "`config` is that of the provider named. The sandbox ends with a customer's first real instance.",
      status: 201,
      answer: Instance,
      example: instance,
      body: {
        name: "Carrier",
        provider: "smpp",
        config: {
          host: "smpp.example.com",
          port: 2775,
          systemId: "bistro",
          password: "secret",
          bindMode: "transceiver",
        },
      },
      parts: { config: Config },
    }),
    "GET /v1/admin/instances": operation({
      id: "listInstances",
      summary: "List instances",
      description: "Newest first, with their health.",
      answer: InstanceList,
      example: { instances: [instance], pagination: LAST_PAGE },
    }),
    "GET /v1/admin/instances/:id": operation({
      id: "getInstance",
      summary: "Get an instance",
      description: "With its health, and what an operator should do something about.",
      answer: Instance,
      example: instance,
    }),
    "PATCH /v1/admin/instances/:id": operation({
      id: "updateInstance",
      summary: "Change an instance",
      description: "What `config` names is changed, the rest stays. Reconnects with the new values.",
      answer: Instance,
      example: { ...instance, name: "Carrier A", updatedAt: at(90) },
      body: { name: "Carrier A" },
    }),
    "DELETE /v1/admin/instances/:id": operation({
      id: "deleteInstance",
      summary: "Disconnect a provider",
      description: "Only when no number is on it, and no route names it.",
      answer: Deleted,
      example: { id: IDS.instance, deleted: true },
      errors: ["INVALID_STATUS"],
    }),
  },
};

export const usage: Section = {
  tag: "Usage",
  description: "What was used, by the day or the hour.",
  operations: {
    "GET /v1/admin/usage": operation({
      id: "getUsage",
      summary: "See what was used",
      description:
        "A customer's key sees itself. An admin key names a key or a customer, or sees all. 30 days unless asked otherwise, 400 points at most.",
      answer: Usage,
      example: {
        key: { id: IDS.key, name: "Booking system" },
        period: { from: "2026-03-01T00:00:00.000Z", to: "2026-03-02T00:00:00.000Z" },
        totals: used,
        series: [{ at: "2026-03-01T00:00:00.000Z", ...used }],
      },
      errors: ["NOT_FOUND"],
      query: { from: "2026-03-01", to: "2026-03-01", granularity: "day" },
    }),
  },
};
