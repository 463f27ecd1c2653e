/** `tightbeam keys`: the rows of its commands, and how a key is shown. */

import type { Tightbeam } from "../sdk/client.ts";
import {
  KEY_PERMISSIONS,
  KEY_SCOPES,
  type Key,
  type KeyPermission,
  type KeyScope,
  type RateLimit,
} from "../sdk/wire.ts";
import { type CommandRow, list, onlyCustomer, present, request } from "./command.ts";
import { listing, type Paint, statusStyle } from "./output.ts";
import { REQUEST_FIELDS } from "./request-fields.ts";
import { rateLimit, seconds } from "./values.ts";

const KEY = { "<id>": "key id (key_…)" };

interface CreateOptions {
  customer?: string;
  customerEmail?: string;
  scope?: KeyScope;
  permissions?: KeyPermission[];
  limit?: RateLimit;
  expiresAt?: string;
}

const FIELDS = REQUEST_FIELDS.CreateKey;

/** Commands about the keys of the API. */
export const keys: CommandRow = {
  name: "keys",
  key: "admin",
  help: "Create, list, rotate and revoke API keys. Needs the admin key.",
  examples: {
    "tightbeam keys create billing": "a key for the only customer",
    "tightbeam keys rotate <id> --grace 1h": "a new key; the old one works for an hour",
    "tightbeam keys revoke <id>": "it stops working at once",
  },
  commands: [
    request({
      name: "create",
      help: "Create a key. It is shown only once: store it.",
      arguments: { "<name>": "what it is for" },
      options: {
        "--scope <scope>": { help: FIELDS.scope, choices: KEY_SCOPES },
        "--permissions <names...>": { help: FIELDS.permissions, choices: KEY_PERMISSIONS },
        "--customer <id>": "its customer (cust_…); not needed while there is only one customer",
        "--customer-email <email>": FIELDS.customerEmail,
        "--limit <requests/time>": { help: `${FIELDS.rateLimit}, such as 1000/60s`, parse: rateLimit },
        "--expires-at <time>": `${FIELDS.expiresAt}; ISO 8601`,
      },
      examples: {
        "tightbeam keys create billing": "",
        "tightbeam keys create bulk --limit 1000/60s": "with its own rate limit",
        "tightbeam keys create ops --scope admin": "an admin key",
        "tightbeam keys create report --permissions read": "a read-only key",
        "tightbeam keys create ci | jq -r .key": "just the key",
      },
      call: async (client, name: string, options: CreateOptions) => {
        const { scope = "messages", permissions, limit, expiresAt } = options;
        const owner = scope === "admin" ? {} : await ownerOf(client, options);
        const more = present({ permissions, rateLimit: limit, expiresAt });
        return await client.admin.keys.create({ name, scope, ...owner, ...more });
      },
      show: detail,
    }),
    list({
      name: "list",
      help: "List keys, the newest first. The secret part of a key is never shown again.",
      examples: { "tightbeam keys list | jq -r '.[].id'": "just the ids" },
      paging: { "--all": "every page, not only the first" },
      pages: (client) => client.admin.keys,
      items: (page) => page.keys,
      columns: [
        { title: "ID", value: (key) => key.id },
        { title: "STATE", value: stateOf, style: (key) => statusStyle(stateOf(key)) },
        { title: "SCOPE", value: (key) => key.scope },
        { title: "KEY", value: (key) => `tb_…${key.last4}` },
        { title: "PERMISSIONS", value: permissionsOf },
        { title: "LIMIT", optional: true, value: limitOf },
        { title: "LAST USED", optional: true, value: (key) => key.lastUsedAt },
        { title: "NAME", value: (key) => key.name },
      ],
      empty: "No keys.",
      more: () => null,
    }),
    request({
      name: "rotate",
      help: "Create a replacement for a key. The old key works until its grace period ends.",
      arguments: KEY,
      options: {
        "--grace <time>": {
          help: `${REQUEST_FIELDS.RotateKey.gracePeriodSeconds}, such as 0, 15m or 7d`,
          parse: seconds,
        },
      },
      examples: { "tightbeam keys rotate <id> --grace 0": "the old key stops working at once" },
      call: (client, id: string, { grace }: { grace?: number }) =>
        client.admin.keys.rotate(id, grace === undefined ? undefined : { gracePeriodSeconds: grace }),
      show: detail,
    }),
    request({
      name: "revoke",
      help: "Revoke a key: it stops working at once, for good.",
      arguments: KEY,
      examples: { "tightbeam keys revoke <id>": "its open event streams end too" },
      call: (client, id: string) => client.admin.keys.revoke(id),
      show: ({ id }) => `${id} revoked`,
    }),
  ],
};

/** The customer that the options name, else the only customer. */
async function ownerOf(client: Tightbeam, { customer, customerEmail }: CreateOptions) {
  if (customer !== undefined) return { customerId: customer };
  return customerEmail === undefined ? { customerId: await onlyCustomer(client) } : { customerEmail };
}

function stateOf(key: Key): string {
  if (key.revokedAt !== null) return "revoked";
  return key.replacedBy === null ? "active" : "replaced";
}

function limitOf(key: Key): string | null {
  return key.rateLimit === null ? null : `${key.rateLimit.limit}/${key.rateLimit.windowSeconds}s`;
}

/** Permissions of a customer's key; null for an admin key, which has none. */
function permissionsOf({ permissions }: Key): string | null {
  return permissions.length === 0 ? null : permissions.join(" ");
}

function detail(found: Key, paint: Paint): string {
  const { id, name, scope, customerId, expiresAt, key } = found;
  const permissions = permissionsOf(found);
  const facts = listing({ id, name, scope, permissions, customerId, rateLimit: limitOf(found), expiresAt, key }, paint);
  const warning =
    key === undefined
      ? "It was created before, and is not shown a second time."
      : "This is the only time that the key is shown.";
  return `${facts}\n\n${paint("yellow", warning)}`;
}
