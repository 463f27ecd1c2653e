/** `tightbeam contacts import`: creates contacts from a file, a hundred in a request, and reports those that failed. */

import type { CreateContact, CreatedContacts } from "../sdk/wire.ts";
import type { Cli } from "./cli.ts";
import { Failure, UsageError } from "./failure.ts";
import { readJson } from "./files.ts";
import { Progress } from "./progress.ts";

/** The most that the service accepts in one request. */
const BATCH_MAX = 100;

/** Creates a contact for each entry of the JSON list in `file`. Throws `Failure` at the end if one was not created. */
export async function importContacts(cli: Cli, file: string): Promise<void> {
  const entries = readJson(file);
  if (!Array.isArray(entries)) throw new UsageError(`${file} is no JSON list.`);
  const { contacts } = cli.client();
  const all: CreatedContacts = { created: 0, failed: 0, errors: [] };
  const interrupted =
    "Interrupted: run the same command again; contacts that exist already are reported, and not changed.";
  const progress = new Progress(cli.terminal, { interrupted });
  await progress.during(async () => {
    for (let start = 0; start < entries.length; start += BATCH_MAX) {
      progress.show("creating", start, entries.length, "contacts");
      const batch = await contacts.createMany(entries.slice(start, start + BATCH_MAX).map(contactOf));
      all.created += batch.created;
      all.failed += batch.failed;
      all.errors.push(...batch.errors.map(({ index, error }) => ({ index: start + index, error })));
    }
    progress.show("creating", entries.length, entries.length, "contacts");
  });
  cli.output().show(all, ({ created, failed, errors }) => {
    const lines = errors.map(({ index, error }) => `  entry ${index + 1}: ${error}`);
    return [`${created} created, ${failed} failed`, ...lines].join("\n");
  });
  if (all.failed > 0) throw new Failure(null, `${all.failed} of ${entries.length} contacts were not created.`);
}

const FIELDS = ["phoneNumber", "email", "firstName", "lastName", "company", "tags", "metadata"] as const;

/** The fields of a contact in an entry, unchecked: the service checks each entry. */
function contactOf(entry: unknown): CreateContact {
  const given = new Map(Object.entries(Object(entry)));
  return Object.fromEntries(FIELDS.flatMap((name) => (given.has(name) ? [[name, given.get(name)]] : [])));
}
