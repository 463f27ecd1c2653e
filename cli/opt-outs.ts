/** `tightbeam opt-outs`: who does not want to hear from a number. */

import type { Command } from "commander";
import type { OptOutQuery } from "../sdk/contacts.ts";
import type { OptOut } from "../sdk/wire.ts";
import { addPaging, type Cli, examples, type Paging, showList } from "./command.ts";
import { listing, type Paint } from "./output.ts";
import type { Column } from "./table.ts";

const COLUMNS: readonly Column<OptOut>[] = [
  { title: "NUMBER", value: (optOut) => optOut.number },
  { title: "CONTACT", value: (optOut) => optOut.contact },
  { title: "BY", value: (optOut) => optOut.source },
  { title: "SINCE", value: (optOut) => optOut.createdAt },
  { title: "KEYWORD", value: (optOut) => optOut.keyword },
];

const NUMBER = "your number";
const CONTACT = "the address that does not want to hear from it";

/** Adds `opt-outs` and what is under it. */
export function addOptOuts(program: Command, cli: Cli): void {
  const optOuts = program
    .command("opt-outs")
    .description("List who answered STOP, and put somebody on that list or take them off it.")
    .addHelpText(
      "after",
      examples({
        "tightbeam opt-outs list": "who is on it",
        "tightbeam opt-outs add +15005550001 +15005550100": "send them nothing any more",
        "tightbeam opt-outs remove +15005550001 +15005550100": "they want to hear from you again",
      }),
    );
  addPaging(
    optOuts
      .command("list")
      .description("List who does not want to hear from your numbers.")
      .option("--number <number>", "only from this number of yours"),
  )
    .addHelpText("after", examples({ "tightbeam opt-outs list --all | jq -r '.[].contact'": "just the addresses" }))
    .action((options: Paging & OptOutQuery) => {
      const { list, listAll } = cli.client("messages").optOuts;
      return showList(
        cli,
        { list, listAll, itemsOf: (page) => page.optOuts, columns: COLUMNS, empty: "Nobody opted out." },
        options,
      );
    });
  const one = (name: string, description: string, meaning: string) =>
    optOuts
      .command(name)
      .description(description)
      .argument("<number>", NUMBER)
      .argument("<contact>", CONTACT)
      .addHelpText("after", examples({ [`tightbeam opt-outs ${name} +15005550001 +15005550100`]: meaning }));
  one("get", "Show since when, and by which word.", "exit code 1 when it is not there").action(
    async (number: string, contact: string) =>
      cli.output().show(await cli.client("messages").optOuts.get(number, contact), detail),
  );
  one("add", "Send somebody nothing from a number any more.", "a send to it is refused").action(
    async (number: string, contact: string) =>
      cli.output().show(await cli.client("messages").optOuts.add(number, contact), detail),
  );
  one("remove", "Let a number write to somebody again.", "only when they asked for it").action(
    async (number: string, contact: string) =>
      cli
        .output()
        .show(await cli.client("messages").optOuts.remove(number, contact), () => `${number} may write to ${contact}`),
  );
}

function detail({ number, contact, source, keyword, createdAt }: OptOut, paint: Paint): string {
  return listing({ number, contact, by: source, keyword, since: createdAt }, paint);
}
