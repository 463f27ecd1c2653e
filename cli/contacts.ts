/** `tightbeam contacts` and `tightbeam opt-outs`: the rows of their commands; `contacts import` is in import-contacts.ts. */

import { type Contact, type CreateContact, OPT_OUT_SCOPES, type OptOut, type OptOutSettings } from "../sdk/wire.ts";
import type { Cli } from "./cli.ts";
import { type CommandRow, list, present, request, type Value } from "./command.ts";
import { UsageError } from "./failure.ts";
import { importContacts } from "./import-contacts.ts";
import { listing, type Paint } from "./output.ts";
import { REQUEST_FIELDS } from "./request-fields.ts";
import type { Column } from "./table.ts";
import { pair, wholeNumber, words } from "./values.ts";

const CONTACT = { "<id>": "contact id (con_…)" };

const COLUMNS: readonly Column<Contact>[] = [
  { title: "ID", value: (contact) => contact.id },
  { title: "NAME", value: nameOf },
  { title: "PHONE", value: (contact) => contact.phoneNumber },
  { title: "E-MAIL", value: (contact) => contact.email },
  { title: "TAGS", value: (contact) => contact.tags.join(", "), optional: true },
  { title: "LAST CONTACTED", value: (contact) => contact.lastContactedAt, optional: true },
  { title: "COMPANY", value: (contact) => contact.company },
];

/** Two commands are this list: by filters, and by a text to search for. */
function contactList(row: Pick<CommandRow, "name" | "help" | "arguments" | "options" | "examples">): CommandRow {
  return list({
    ...row,
    options: { "--tag <tag>": "only contacts with this tag", ...row.options },
    pages: ({ contacts: routes }, ...[search]: unknown[]) => {
      const text = typeof search === "string" ? { search } : {};
      return {
        list: (query: object) => routes.list({ ...query, ...text }),
        listAll: (query: object) => routes.listAll({ ...query, ...text }),
      };
    },
    items: (page) => page.contacts,
    columns: COLUMNS,
    empty: "No contacts.",
    paging: {
      "--limit <n>": { help: "how many, 1 to 100 (default: 50)", parse: wholeNumber(1) },
      "--offset <n>": { help: "skip so many first", parse: wholeNumber(0) },
      "--all": "every page, not only the first",
    },
    more: ({ contacts: { length }, pagination: { offset, total, hasMore } }) =>
      hasMore ? `${total} in all. More with --offset ${offset + length}, or --all.` : null,
  });
}

interface Fields extends Omit<CreateContact, "phoneNumber"> {
  phone?: string;
}

const NEW = REQUEST_FIELDS.CreateContact;

const FIELDS: Readonly<Record<string, Value>> = {
  "--phone <number>": NEW.phoneNumber,
  "--email <address>": NEW.email,
  "--first-name <name>": NEW.firstName,
  "--last-name <name>": NEW.lastName,
  "--company <name>": NEW.company,
  "--tags <list>": { help: `${NEW.tags}, with commas between`, parse: words },
  "--metadata <key=value>": { help: `${NEW.metadata}; may be repeated`, parse: pair },
};

function contactOf({ phone, ...fields }: Fields): CreateContact {
  return { ...(phone === undefined ? {} : { phoneNumber: phone }), ...fields };
}

/** Commands about contacts. */
export const contacts: CommandRow = {
  name: "contacts",
  help: "Keep names, tags and more with the addresses that you write to.",
  examples: {
    'tightbeam contacts create --phone +15005550100 --first-name "Ada"': "create one",
    'tightbeam contacts search "ada"': "by name, address or company",
    "tightbeam contacts list --tag vip": "all with a tag",
    "tightbeam contacts import people.json": "many at once",
  },
  commands: [
    contactList({
      name: "list",
      help: "List contacts.",
      options: { "--search <text>": "only contacts with this in their name, address or company" },
      examples: { "tightbeam contacts list --tag vip --all | jq length": "how many have a tag" },
    }),
    contactList({
      name: "search",
      help: "Find contacts by a part of their name, address or company.",
      arguments: { "<text>": "the text to search for" },
      examples: { "tightbeam contacts search ada | jq -r '.[].phoneNumber'": "just the numbers" },
    }),
    request({
      name: "get",
      help: "Show one contact.",
      arguments: CONTACT,
      examples: { "tightbeam contacts get <id> | jq .metadata": "your own data" },
      call: (client, id: string) => client.contacts.get(id),
      show: contactDetail,
    }),
    request({
      name: "create",
      help: "Create a contact with a phone number, an e-mail address, or both.",
      options: { ...FIELDS, "--idempotency-key <key>": NEW.idempotencyKey },
      examples: {
        'tightbeam contacts create --phone +15005550100 --first-name "Ada" --tags vip,london': "",
        "tightbeam contacts create --email ada@example.com | jq -r .id": "just the id",
      },
      call: (client, { idempotencyKey, ...fields }: Fields & { idempotencyKey?: string }) =>
        client.contacts.create(contactOf(fields), { idempotencyKey }),
      show: contactDetail,
    }),
    request({
      name: "update",
      help: 'Change only the given fields; "" clears a field.',
      arguments: CONTACT,
      options: FIELDS,
      examples: {
        'tightbeam contacts update <id> --company "Analytical Engines"': "",
        'tightbeam contacts update <id> --tags ""': "remove its tags",
      },
      call: async (client, id: string, fields: Fields) => {
        const changes = contactOf(fields);
        if (Object.keys(changes).length === 0) throw new UsageError("name what is to be changed, such as --company.");
        return await client.contacts.update(id, changes);
      },
      show: contactDetail,
    }),
    {
      name: "delete",
      help: "Delete contacts. Messages with them stay, unless --erase is given.",
      arguments: { "<id...>": "contact ids (con_…)" },
      options: {
        "--erase": "also erase the messages with them: texts, files and events; this cannot be undone",
      },
      examples: {
        "tightbeam contacts delete <id> <id>": "one or more",
        "tightbeam contacts delete <id> --erase": "run it again to see whether all is erased",
      },
      run: (cli, ids: string[], { erase }: { erase?: boolean }) => (erase ? eraseContacts(cli, ids) : remove(cli, ids)),
    },
    {
      name: "import",
      help: "Create many contacts from a file with a JSON list. A bad entry is reported and stops no other.",
      arguments: { "<file>": "the file, or - for standard input" },
      examples: {
        "tightbeam contacts import people.json": "",
        "tightbeam contacts list --all | tightbeam contacts import - --key <key>": "from one customer to another",
      },
      notes:
        "A list of objects with phoneNumber or email, firstName, lastName, company, tags, metadata; other fields are ignored.",
      run: importContacts,
    },
    request({
      name: "focus",
      help: "Show whether a contact has silenced notifications.",
      arguments: { "<phone>": "phone number of a contact that you have exchanged messages with" },
      examples: { "tightbeam contacts focus +15005550110 | jq .focused": "" },
      call: (client, phone: string) => client.contacts.focus(phone),
      show: ({ phoneNumber, focused, focusMode }, paint) => listing({ phoneNumber, focused, focusMode }, paint),
    }),
    request({
      name: "facetime",
      help: "Show whether a phone can be called by FaceTime.",
      arguments: { "<phone>": "phone number" },
      examples: { "tightbeam contacts facetime +15005550100 | jq .available": "" },
      call: (client, phone: string) => client.contacts.facetime(phone),
      show: ({ phoneNumber, available }, paint) => listing({ phoneNumber, available }, paint),
    }),
  ],
};

async function eraseContacts(cli: Cli, ids: readonly string[]): Promise<void> {
  const { contacts: routes } = cli.client();
  const erased = [];
  for (const id of ids) erased.push(await routes.erase(id));
  cli
    .output()
    .show(erased, (all) =>
      all.map(({ id, erasedAt }) => `${id} ${erasedAt ? `erased ${erasedAt}` : "deleted, being erased"}`).join("\n"),
    );
}

async function remove(cli: Cli, ids: string[]): Promise<void> {
  const { contacts: routes } = cli.client();
  const [only, ...others] = ids;
  const isOne = only !== undefined && others.length === 0;
  const deleted = isOne ? { deleted: Number((await routes.delete(only)).deleted) } : await routes.deleteMany(ids);
  cli.output().show(deleted, ({ deleted: count }) => `${count} of ${ids.length} deleted`);
}

function nameOf({ firstName, lastName }: Contact): string | null {
  return [firstName, lastName].filter((name) => name !== null).join(" ") || null;
}

function contactDetail(contact: Contact, paint: Paint): string {
  const { id, phoneNumber, email, company, tags, metadata, lastContactedAt, createdAt } = contact;
  return listing(
    {
      id,
      name: nameOf(contact),
      phoneNumber,
      email,
      company,
      tags: tags.join(", ") || null,
      metadata: metadata === null ? null : JSON.stringify(metadata),
      lastContactedAt,
      createdAt,
    },
    paint,
  );
}

const PAIR = { "<number>": "your number", "<contact>": "the address that opted out of its messages" };
const BOTH = "+15005550001 +15005550100";

/** Commands about opt-outs. */
export const optOuts: CommandRow = {
  name: "opt-outs",
  help: "List who answered STOP, and opt contacts out or in again.",
  examples: {
    "tightbeam opt-outs list": "who opted out",
    [`tightbeam opt-outs add ${BOTH}`]: "send no more messages there",
    [`tightbeam opt-outs remove ${BOTH}`]: "the contact wants your messages again",
  },
  commands: [
    list({
      name: "list",
      help: "List who opted out of messages from your numbers.",
      options: { "--number <number>": "only for this number of yours" },
      examples: { "tightbeam opt-outs list --all | jq -r '.[].contact'": "just the addresses" },
      pages: (client) => client.optOuts,
      items: (page) => page.optOuts,
      columns: [
        { title: "NUMBER", value: (optOut) => optOut.number },
        { title: "CONTACT", value: (optOut) => optOut.contact },
        { title: "FROM", value: (optOut) => (optOut.scope === "customer" ? "all your numbers" : "this number") },
        { title: "BY", value: (optOut) => optOut.source },
        { title: "SINCE", value: (optOut) => optOut.createdAt },
        { title: "KEYWORD", value: (optOut) => optOut.keyword },
      ],
      empty: "Nobody opted out.",
    }),
    request({
      name: "get",
      help: "Show since when a contact is opted out, and by which keyword.",
      arguments: PAIR,
      examples: { [`tightbeam opt-outs get ${BOTH}`]: "exit code 1 if the contact is not opted out" },
      call: (client, number: string, contact: string) => client.optOuts.get(number, contact),
      show: optOutDetail,
    }),
    request({
      name: "add",
      help: "Opt a contact out of messages from one of your numbers.",
      arguments: PAIR,
      examples: { [`tightbeam opt-outs add ${BOTH}`]: "a send to the contact is refused" },
      call: (client, number: string, contact: string) => client.optOuts.add(number, contact),
      show: optOutDetail,
    }),
    request({
      name: "remove",
      help: "Opt a contact in again: your numbers may send to it.",
      arguments: PAIR,
      options: { "--reason <text>": "why; required if the contact or the provider made the opt-out" },
      examples: { [`tightbeam opt-outs remove ${BOTH} --reason "asked by phone"`]: "only if the contact asked for it" },
      call: (client, number: string, contact: string, { reason }: { reason?: string }) =>
        client.optOuts.remove(number, contact, { reason }),
      show: (_deleted, _paint, _width, number: string, contact: string) => `${number} may write to ${contact}`,
    }),
    request({
      name: "settings",
      help: "Show the words that opt contacts out and in, and what the service answers.",
      examples: { "tightbeam opt-outs settings | jq -r '.keywords[]'": "the words that you added" },
      call: (client) => client.optOuts.settings(),
      show: settingsDetail,
    }),
    request({
      name: "set",
      help: 'Change only the given settings; "" takes an answer or the added words away.',
      options: {
        "--scope <scope>": { help: REQUEST_FIELDS.SetOptOutSettings.scope, choices: OPT_OUT_SCOPES },
        "--keywords <list>": {
          help: `${REQUEST_FIELDS.SetOptOutSettings.keywords}, with commas between`,
          parse: words,
        },
        "--resume <list>": { help: `${REQUEST_FIELDS.SetOptOutSettings.resume}, with commas between`, parse: words },
        "--confirmation <text>": REQUEST_FIELDS.SetOptOutSettings.confirmation,
        "--help-text <text>": REQUEST_FIELDS.SetOptOutSettings.help,
      },
      examples: {
        "tightbeam opt-outs set --keywords BASTA,PARE": "beside the fixed words",
        'tightbeam opt-outs set --confirmation "You get no more messages."': "sent once after each STOP",
        "tightbeam opt-outs set --scope number": "a STOP holds for the number that it was written to",
      },
      call: (client, given: GivenSettings) => {
        const { helpText, confirmation, ...more } = given;
        const answers = { confirmation: noneIfEmpty(confirmation), help: noneIfEmpty(helpText) };
        return client.optOuts.changeSettings(present({ ...more, ...answers }));
      },
      show: settingsDetail,
    }),
  ],
};

function optOutDetail({ number, contact, scope, source, keyword, createdAt }: OptOut, paint: Paint): string {
  return listing({ number, contact, scope, by: source, keyword, since: createdAt }, paint);
}

/** The options of `opt-outs set`. */
interface GivenSettings extends Partial<Pick<OptOutSettings, "scope" | "keywords" | "resume">> {
  confirmation?: string;
  helpText?: string;
}

function noneIfEmpty(text: string | undefined): string | null | undefined {
  return text === "" ? null : text;
}

function settingsDetail({ scope, keywords, resume, confirmation, help }: OptOutSettings, paint: Paint): string {
  const lists = { keywords: keywords.join(", ") || null, resume: resume.join(", ") };
  return listing({ scope, ...lists, confirmation, help }, paint);
}
