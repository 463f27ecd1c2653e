/** `tightbeam routes`: which instances carry a customer's SMS, by the recipient's number. Needs the admin key. */

import type { Command } from "commander";
import type { Route } from "../sdk/wire.ts";
import { type Cli, examples, onlyCustomer } from "./command.ts";
import { UsageError } from "./failure.ts";
import type { Paint } from "./output.ts";
import { type Column, table } from "./table.ts";

const COLUMNS: readonly Column<Route>[] = [
  { title: "PREFIX", value: (route) => route.prefix },
  { title: "INSTANCE", value: (route) => route.instanceId },
];

interface OfCustomer {
  customer?: string;
}

/** Adds `routes` and what is under it. */
export function addRoutes(program: Command, cli: Cli): void {
  const routes = program
    .command("routes")
    .description(
      "Say which instances carry a customer's SMS, by what the recipient's number begins with. Needs the admin key.",
    )
    .addHelpText(
      "after",
      examples({
        "tightbeam routes set '+=inst_world'": "every SMS",
        "tightbeam routes set '+1=inst_a' '+1=inst_b'": "where the first is down or refuses, the second",
        "tightbeam routes list": "",
        "tightbeam routes remove": "SMS goes by the instance of the number again",
      }),
    );
  const command = (name: string, description: string) =>
    routes
      .command(name)
      .description(description)
      .option("--customer <id>", "whose they are (cust_…); not needed while there is only one customer");
  const find = async (given: OfCustomer) => {
    const client = cli.client("admin");
    return { customers: client.admin.customers, id: given.customer ?? (await onlyCustomer(client)) };
  };
  command("list", "List which instances carry a customer's SMS.")
    .addHelpText("after", examples({ "tightbeam routes list | jq -r '.[].prefix'": "" }))
    .action(async (given: OfCustomer) => {
      const { customers, id } = await find(given);
      cli.output().show(await customers.routes(id), listed);
    });
  command("set", "Set them, each as `prefix=instance`, in place of all that there were.")
    .argument(
      "<routes...>",
      "each as prefix=instance; the longest prefix wins, and of several with the same the first that is up",
    )
    .addHelpText("after", examples({ "tightbeam routes set '+44=inst_uk' '+=inst_world'": "" }))
    .action(async (words: string[], given: OfCustomer) => {
      const wanted = words.map(routeOf);
      const { customers, id } = await find(given);
      cli.output().show(await customers.setRoutes(id, wanted), listed);
    });
  command("remove", "Take them away: SMS goes by the instance of the number it is sent from.")
    .addHelpText("after", examples({ "tightbeam routes remove": "" }))
    .action(async (given: OfCustomer) => {
      const { customers, id } = await find(given);
      cli.output().show(await customers.setRoutes(id, []), listed);
    });
}

function routeOf(word: string): Route {
  const [prefix = "", instanceId = "", ...more] = word.split("=");
  if (prefix !== "" && instanceId !== "" && more.length === 0) return { prefix, instanceId };
  throw new UsageError(`${word} is no route: write prefix=instance, such as '+44=inst_…'.`);
}

function listed(routes: Route[], paint: Paint, width: number): string {
  return table(routes, COLUMNS, paint, width, "No routes: SMS goes by the instance of the number it is sent from.");
}
