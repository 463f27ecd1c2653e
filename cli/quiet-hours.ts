/** `tightbeam quiet-hours`: when a customer's messages wait, by the clocks of their recipients. Needs the admin key. */

import type { Command } from "commander";
import type { QuietHours } from "../sdk/wire.ts";
import { type Cli, examples, onlyCustomer } from "./command.ts";
import { listing, type Paint } from "./output.ts";

interface OfCustomer {
  customer?: string;
}

/** Adds `quiet-hours` and what is under it. */
export function addQuietHours(program: Command, cli: Cli): void {
  const quietHours = program
    .command("quiet-hours")
    .description("Let a customer's messages wait at night, by the clocks of recipients. Needs the admin key.")
    .addHelpText(
      "after",
      examples({
        "tightbeam quiet-hours set 21:00 08:00": "nothing is sent from nine at night until eight in the morning",
        "tightbeam quiet-hours get": "",
        "tightbeam quiet-hours remove": "what waits goes out",
      }),
    );
  const command = (name: string, description: string, example: Record<string, string>) =>
    quietHours
      .command(name)
      .description(description)
      .option("--customer <id>", "whose they are (cust_…); not needed while there is only one customer")
      .addHelpText("after", examples(example));
  const find = async (given: OfCustomer) => {
    const client = cli.client("admin");
    return { routes: client.admin.customers, id: given.customer ?? (await onlyCustomer(client)) };
  };
  command("get", "Show when a customer's messages wait.", {
    "tightbeam quiet-hours get | jq -r '.timeZone'": "",
  }).action(async (given: OfCustomer) => {
    const { routes, id } = await find(given);
    cli.output().show(await routes.quietHours(id), facts);
  });
  command("set", "Let messages wait from one time of day until another. What waits already is looked at again.", {
    "tightbeam quiet-hours set 21:00 08:00 --time-zone America/New_York": "",
  })
    .argument("<start>", "from when on, as HH:MM")
    .argument("<end>", "until when; before the start it is on the next day")
    .option("--time-zone <zone>", "the zone of recipients whose number does not tell theirs; else UTC")
    .action(async (start: string, end: string, given: OfCustomer & { timeZone?: string }) => {
      const { routes, id } = await find(given);
      const { timeZone } = given;
      const hours = { start, end, ...(timeZone === undefined ? {} : { timeZone }) };
      cli.output().show(await routes.setQuietHours(id, hours), facts);
    });
  command("remove", "Take them away: what they hold back goes out at once.", {
    "tightbeam quiet-hours remove": "",
  }).action(async (given: OfCustomer) => {
    const { routes, id } = await find(given);
    cli.output().show(await routes.deleteQuietHours(id), () => "no quiet hours");
  });
}

function facts(hours: QuietHours | null, paint: Paint): string {
  if (hours === null) return "No quiet hours: messages go out at any time.";
  const { start, end, timeZone } = hours;
  return listing({ start, end, timeZone: timeZone ?? "UTC, where the number does not tell" }, paint);
}
