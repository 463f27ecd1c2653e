/** `tightbeam keys`: the keys of the API. Needs the admin key. */

import { type Command, Option } from "commander";
import type { Tightbeam } from "../sdk/client.ts";
import {
  KEY_PERMISSIONS,
  KEY_SCOPES,
  type Key,
  type KeyPermission,
  type KeyScope,
  type RateLimit,
} from "../sdk/wire.ts";
import { type Cli, examples, gather, onlyCustomer } from "./command.ts";
import { listing, type Paint, statusStyle } from "./output.ts";
import { type Column, table } from "./table.ts";
import { rateLimit, seconds } from "./values.ts";

interface CreateOptions {
  customer?: string;
  customerEmail?: string;
  scope: KeyScope;
  permissions?: KeyPermission[];
  limit?: RateLimit;
  expiresAt?: string;
}

const COLUMNS: readonly Column<Key>[] = [
  { title: "ID", value: (key) => key.id },
  { title: "STATE", value: stateOf, style: (key) => statusStyle(stateOf(key)) },
  { title: "SCOPE", value: (key) => key.scope },
  { title: "KEY", value: (key) => `tb_…${key.last4}` },
  { title: "LIMIT", value: (key) => limitOf(key) },
  { title: "LAST USED", value: (key) => key.lastUsedAt },
  { title: "NAME", value: (key) => key.name },
];

/** Adds `keys` and what is under it. */
export function addKeys(program: Command, cli: Cli): void {
  const keys = program
    .command("keys")
    .description("Make, list, rotate and revoke API keys. Needs the admin key.")
    .addHelpText(
      "after",
      examples({
        "tightbeam keys create billing": "a key for the one customer there is",
        "tightbeam keys rotate <id> --grace 1h": "a new one; the old one works for an hour",
        "tightbeam keys revoke <id>": "it stops working at once",
      }),
    );
  addCreate(keys, cli);
  keys
    .command("list")
    .description("List keys, the newest first. The keys themselves are never shown again.")
    .option("--all", "every page, not only the first")
    .addHelpText("after", examples({ "tightbeam keys list | jq -r '.[].id'": "just the ids" }))
    .action(async ({ all }: { all?: boolean }) => {
      const { keys: routes } = cli.client("admin").admin;
      const items = await gather(
        all,
        () => routes.listAll({ limit: 100 }),
        routes.list,
        (page) => page.keys,
      );
      cli.output().show(items, (rows, paint, width) => table(rows, COLUMNS, paint, width, "No keys."));
    });
  keys
    .command("rotate")
    .description("Make a new key in the place of one, which works on until its grace period ends.")
    .argument("<id>", "key id (key_…)")
    .option("--grace <time>", "how long the old one works on, such as 0, 15m or 7d (default: 1d)", seconds)
    .addHelpText("after", examples({ "tightbeam keys rotate <id> --grace 0": "the old one stops at once" }))
    .action(async (id: string, { grace }: { grace?: number }) => {
      const body = grace === undefined ? undefined : { gracePeriodSeconds: grace };
      cli.output().show(await cli.client("admin").admin.keys.rotate(id, body), detail);
    });
  keys
    .command("revoke")
    .description("Revoke a key: it stops working at once, for good.")
    .argument("<id>", "key id (key_…)")
    .addHelpText("after", examples({ "tightbeam keys revoke <id>": "its open event streams end too" }))
    .action(async (id: string) =>
      cli.output().show(await cli.client("admin").admin.keys.revoke(id), () => `${id} revoked`),
    );
}

function addCreate(keys: Command, cli: Cli): void {
  keys
    .command("create")
    .description("Make a key. It is shown once: keep it.")
    .argument("<name>", "what it is for")
    .addOption(new Option("--scope <scope>", "what it opens").choices(KEY_SCOPES).default("messages"))
    .addOption(new Option("--permissions <names...>", "narrow it to some of these").choices(KEY_PERMISSIONS))
    .option("--customer <id>", "whose key it is (cust_…); not needed while there is only one customer")
    .option("--customer-email <email>", "the same, by the customer's e-mail address")
    .option("--limit <requests/time>", "its own rate limit, such as 1000/60s", rateLimit)
    .option("--expires-at <time>", "when it stops working (ISO 8601)")
    .addHelpText(
      "after",
      examples({
        "tightbeam keys create billing": "",
        "tightbeam keys create bulk --limit 1000/60s": "with its own rate limit",
        "tightbeam keys create ops --scope admin": "an admin key",
        "tightbeam keys create report --permissions read": "a key that changes nothing",
        "tightbeam keys create ci | jq -r .key": "just the key",
      }),
    )
    .action((name: string, options: CreateOptions) => create(cli, name, options));
}

async function create(cli: Cli, name: string, options: CreateOptions): Promise<void> {
  const client = cli.client("admin");
  const owner = options.scope === "admin" ? {} : await ownerOf(client, options);
  const key = await client.admin.keys.create({
    name,
    scope: options.scope,
    ...owner,
    ...(options.permissions === undefined ? {} : { permissions: options.permissions }),
    ...(options.limit === undefined ? {} : { rateLimit: options.limit }),
    ...(options.expiresAt === undefined ? {} : { expiresAt: options.expiresAt }),
  });
  cli.output().show(key, detail);
}

/** The customer that the options name, else the only one there is. */
async function ownerOf(
  client: Tightbeam,
  { customer, customerEmail }: CreateOptions,
): Promise<{ customerId: string } | { customerEmail: string }> {
  if (customer !== undefined) return { customerId: customer };
  if (customerEmail !== undefined) return { customerEmail };
  return { customerId: await onlyCustomer(client) };
}

function stateOf(key: Key): string {
  if (key.revokedAt !== null) return "revoked";
  return key.replacedBy === null ? "active" : "replaced";
}

function limitOf(key: Key): string | null {
  return key.rateLimit === null ? null : `${key.rateLimit.limit}/${key.rateLimit.windowSeconds}s`;
}

function detail(key: Key, paint: Paint): string {
  const facts = listing(
    {
      id: key.id,
      name: key.name,
      scope: key.scope,
      customerId: key.customerId,
      rateLimit: limitOf(key),
      expiresAt: key.expiresAt,
      key: key.key,
    },
    paint,
  );
  if (key.key === undefined)
    return `${facts}\n\n${paint("yellow", "It was made before, and is not shown a second time.")}`;
  return `${facts}\n\n${paint("yellow", "This is the only time that the key is shown.")}`;
}
