/** `tightbeam numbers`: what a customer sends from. */

import type { Command } from "commander";
import { type Cli, examples } from "./command.ts";
import { statusStyle } from "./output.ts";
import { table } from "./table.ts";

/** Adds `numbers`. */
export function addNumbers(program: Command, cli: Cli): void {
  program
    .command("numbers")
    .description("List the numbers that you send from, and whether they work.")
    .addHelpText(
      "after",
      examples({ "tightbeam numbers | jq -r '.[] | select(.isDefault).phoneNumber'": "the default" }),
    )
    .action(async () =>
      cli.output().show(await cli.client("messages").numbers(), (numbers, paint, width) =>
        table(
          numbers,
          [
            { title: "NUMBER", value: (number) => number.phoneNumber ?? number.email },
            {
              title: "HEALTH",
              value: (number) => number.healthStatus,
              style: (number) => statusStyle(number.healthStatus),
            },
            { title: "DEFAULT", value: (number) => (number.isDefault ? "yes" : "") },
            { title: "INSTANCE", value: (number) => number.instanceName },
          ],
          paint,
          width,
          "No numbers: an administrator has to give this customer one.",
        ),
      ),
    );
}
