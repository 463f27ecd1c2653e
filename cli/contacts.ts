/** `tightbeam contacts`: the people behind the addresses. */

import type { Command } from "commander";
import type { ContactQuery } from "../sdk/contacts.ts";
import type { Contact, CreateContact, CreatedContacts } from "../sdk/wire.ts";
import { type Cli, examples, gather } from "./command.ts";
import { Failure, UsageError } from "./failure.ts";
import { readJson } from "./files.ts";
import { listing, type Paint } from "./output.ts";
import { type Column, table } from "./table.ts";
import { pair, wholeNumber, words } from "./values.ts";

const COLUMNS: readonly Column<Contact>[] = [
  { title: "ID", value: (contact) => contact.id },
  { title: "NAME", value: nameOf },
  { title: "PHONE", value: (contact) => contact.phoneNumber },
  { title: "E-MAIL", value: (contact) => contact.email },
  { title: "TAGS", value: (contact) => contact.tags.join(", "), optional: true },
  { title: "LAST CONTACTED", value: (contact) => contact.lastContactedAt, optional: true },
  { title: "COMPANY", value: (contact) => contact.company },
];

/** Adds `contacts` and what is under it. */
export function addContacts(program: Command, cli: Cli): void {
  const contacts = program
    .command("contacts")
    .description("Keep names, tags and more with the addresses that you write with.")
    .addHelpText(
      "after",
      examples({
        'tightbeam contacts create --phone +15005550100 --first-name "Ada"': "make one",
        'tightbeam contacts search "ada"': "by name, address or company",
        "tightbeam contacts list --tag vip": "all with a tag",
        "tightbeam contacts import people.json": "many at once",
      }),
    );
  addLists(contacts, cli);
  addChanges(contacts, cli);
  addImport(contacts, cli);
  addAvailability(contacts, cli);
}

interface ListOptions extends ContactQuery {
  all?: boolean;
}

function addLists(contacts: Command, cli: Cli): void {
  const paged = (command: Command) =>
    command
      .option("--tag <tag>", "only those with this tag")
      .option("--limit <n>", "how many, 1 to 100 (default: 50)", wholeNumber(1))
      .option("--offset <n>", "leave out so many first", wholeNumber(0))
      .option("--all", "every page, not only the first");
  paged(contacts.command("list").description("List contacts."))
    .option("--search <text>", "only those with this in their name, address or company")
    .addHelpText("after", examples({ "tightbeam contacts list --tag vip --all | jq length": "how many have a tag" }))
    .action((options: ListOptions) => list(cli, options));
  paged(contacts.command("search").description("Find contacts by a part of their name, address or company."))
    .argument("<text>", "what to look for")
    .addHelpText("after", examples({ "tightbeam contacts search ada | jq -r '.[].phoneNumber'": "just the numbers" }))
    .action((search: string, options: ListOptions) => list(cli, { ...options, search }));
  contacts
    .command("get")
    .description("Show one contact.")
    .argument("<id>", "contact id (con_…)")
    .addHelpText("after", examples({ "tightbeam contacts get <id> | jq .metadata": "what you keep with it" }))
    .action(async (id: string) => cli.output().show(await cli.client("messages").contacts.get(id), detail));
}

async function list(cli: Cli, { all, ...query }: ListOptions): Promise<void> {
  const routes = cli.client("messages").contacts;
  const output = cli.output();
  let next: string | null = null;
  const items = await gather(
    all,
    () => routes.listAll({ limit: 100, ...query }),
    () => routes.list(query),
    ({ contacts, pagination: { offset, total, hasMore } }) => {
      if (hasMore) next = `${total} in all. More with --offset ${offset + contacts.length}, or --all.`;
      return contacts;
    },
  );
  output.show(items, (rows, paint, width) => table(rows, COLUMNS, paint, width, "No contacts."));
  if (next !== null && !output.json) output.note(next);
}

interface Fields {
  phone?: string;
  email?: string;
  firstName?: string;
  lastName?: string;
  company?: string;
  tags?: string[];
  metadata?: Record<string, string>;
  idempotencyKey?: string;
}

function withFields(command: Command): Command {
  return command
    .option("--phone <number>", "phone number (+15005550100)")
    .option("--email <address>", "e-mail address")
    .option("--first-name <name>", "first name")
    .option("--last-name <name>", "last name")
    .option("--company <name>", "company")
    .option("--tags <list>", "tags, with commas between", words)
    .option("--metadata <key=value>", "kept with it; may be repeated", pair);
}

function contactOf({ phone, idempotencyKey: _, ...fields }: Fields): CreateContact {
  return { ...(phone === undefined ? {} : { phoneNumber: phone }), ...fields };
}

function addChanges(contacts: Command, cli: Cli): void {
  withFields(contacts.command("create").description("Make a contact: a phone number or e-mail address at least."))
    .option("--idempotency-key <key>", "the same key again makes no second contact")
    .addHelpText(
      "after",
      examples({
        'tightbeam contacts create --phone +15005550100 --first-name "Ada" --tags vip,london': "",
        "tightbeam contacts create --email ada@example.com | jq -r .id": "just the id",
      }),
    )
    .action(async (fields: Fields) => {
      const { idempotencyKey } = fields;
      const made = await cli.client("messages").contacts.create(contactOf(fields), { idempotencyKey });
      cli.output().show(made, detail);
    });
  withFields(
    contacts
      .command("update")
      .description('Change what is named, and leave the rest; "" takes a value away.')
      .argument("<id>", "contact id (con_…)"),
  )
    .addHelpText(
      "after",
      examples({
        'tightbeam contacts update <id> --company "Analytical Engines"': "",
        'tightbeam contacts update <id> --tags ""': "no tags any more",
      }),
    )
    .action(async (id: string, fields: Fields) => {
      const changes = contactOf(fields);
      if (Object.keys(changes).length === 0) throw new UsageError("name what is to be changed, such as --company.");
      cli.output().show(await cli.client("messages").contacts.update(id, changes), detail);
    });
  contacts
    .command("delete")
    .description("Delete contacts. What was written with them stays, unless --erase is given.")
    .argument("<id...>", "contact ids (con_…)")
    .option("--erase", "also erase what was written with them: texts, files and events; there is no way back")
    .addHelpText(
      "after",
      examples({
        "tightbeam contacts delete <id> <id>": "one or more",
        "tightbeam contacts delete <id> --erase": "again: see whether all is erased",
      }),
    )
    .action(async (ids: string[], { erase }: { erase?: boolean }) => {
      const routes = cli.client("messages").contacts;
      if (erase === true) {
        const erased = [];
        for (const id of ids) erased.push(await routes.erase(id));
        cli
          .output()
          .show(erased, (all) =>
            all
              .map(({ id, erasedAt }) => `${id} ${erasedAt ? `erased ${erasedAt}` : "deleted, being erased"}`)
              .join("\n"),
          );
        return;
      }
      const [only, ...others] = ids;
      const deleted =
        only !== undefined && others.length === 0
          ? { deleted: Number((await routes.delete(only)).deleted) }
          : await routes.deleteMany(ids);
      cli.output().show(deleted, ({ deleted: count }) => `${count} of ${ids.length} deleted`);
    });
}

/** The most in one request. */
const IMPORT_AT_ONCE = 100;

function addImport(contacts: Command, cli: Cli): void {
  contacts
    .command("import")
    .description("Make many contacts from a file with a JSON list; a bad one is told of and stops no other.")
    .argument("<file>", "the file, or - for what is piped in")
    .addHelpText(
      "after",
      `${examples({
        "tightbeam contacts import people.json": "",
        "tightbeam contacts list --all | tightbeam contacts import - --key <key>": "from one customer to another",
      })}\n\nA list of objects with phoneNumber or email, firstName, lastName, company, tags, metadata; other fields are left out.`,
    )
    .action(async (file: string) => {
      const rows = readJson(file);
      if (!Array.isArray(rows)) throw new UsageError(`${file} is no JSON list.`);
      const routes = cli.client("messages").contacts;
      const all: CreatedContacts = { created: 0, failed: 0, errors: [] };
      for (let at = 0; at < rows.length; at += IMPORT_AT_ONCE) {
        const made = await routes.createMany(rows.slice(at, at + IMPORT_AT_ONCE).map(known));
        all.created += made.created;
        all.failed += made.failed;
        all.errors.push(...made.errors.map(({ index, error }) => ({ index: at + index, error })));
      }
      cli.output().show(all, ({ created, failed, errors }) => {
        const lines = errors.map(({ index, error }) => `  entry ${index + 1}: ${error}`);
        return [`${created} made, ${failed} not`, ...lines].join("\n");
      });
      if (all.failed > 0) throw new Failure(null, `${all.failed} of ${rows.length} contacts were not made.`);
    });
}

const FIELDS = ["phoneNumber", "email", "firstName", "lastName", "company", "tags", "metadata"] as const;

/** The fields of a contact in an entry; whether their values are right, the service says for each. */
function known(entry: unknown): CreateContact {
  const given = new Map(Object.entries(Object(entry)));
  return Object.fromEntries(FIELDS.flatMap((name) => (given.has(name) ? [[name, given.get(name)]] : [])));
}

function addAvailability(contacts: Command, cli: Cli): void {
  contacts
    .command("focus")
    .description("Show whether a person has notifications silenced.")
    .argument("<phone>", "phone number; only of people one has written with both ways")
    .addHelpText("after", examples({ "tightbeam contacts focus +15005550110 | jq .focused": "" }))
    .action(async (phone: string) =>
      cli
        .output()
        .show(await cli.client("messages").contacts.focus(phone), ({ phoneNumber, focused, focusMode }, paint) =>
          listing({ phoneNumber, focused, focusMode }, paint),
        ),
    );
  contacts
    .command("facetime")
    .description("Show whether a phone can be called by FaceTime.")
    .argument("<phone>", "phone number")
    .addHelpText("after", examples({ "tightbeam contacts facetime +15005550100 | jq .available": "" }))
    .action(async (phone: string) =>
      cli
        .output()
        .show(await cli.client("messages").contacts.facetime(phone), ({ phoneNumber, available }, paint) =>
          listing({ phoneNumber, available }, paint),
        ),
    );
}

function nameOf({ firstName, lastName }: Contact): string | null {
  return [firstName, lastName].filter((name) => name !== null).join(" ") || null;
}

function detail(contact: Contact, paint: Paint): string {
  return listing(
    {
      id: contact.id,
      name: nameOf(contact),
      phoneNumber: contact.phoneNumber,
      email: contact.email,
      company: contact.company,
      tags: contact.tags.join(", ") || null,
      metadata: contact.metadata === null ? null : JSON.stringify(contact.metadata),
      lastContactedAt: contact.lastContactedAt,
      createdAt: contact.createdAt,
    },
    paint,
  );
}
