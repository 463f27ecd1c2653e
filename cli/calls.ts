/** `tightbeam calls`: FaceTime calls that were detected. */

import { type Command, Option } from "commander";
import type { CallQuery } from "../sdk/payments.ts";
import { CALL_STATUSES, type Call } from "../sdk/wire.ts";
import { addPaging, type Cli, examples, type Paging, showList } from "./command.ts";
import { listing, type Paint, statusStyle } from "./output.ts";
import { type Column, table } from "./table.ts";

const COLUMNS: readonly Column<Call>[] = [
  { title: "ID", value: (call) => call.id },
  { title: "STATUS", value: (call) => call.status, style: (call) => statusStyle(call.status) },
  { title: "KIND", value: kindOf },
  { title: "CALLER", value: (call) => call.caller },
  { title: "TO", value: (call) => call.to },
  { title: "CREATED", value: (call) => call.createdAt },
];

/** Adds `calls` and what is under it. */
export function addCalls(program: Command, cli: Cli): void {
  const calls = program
    .command("calls")
    .description("List the FaceTime calls that were detected, and how they went.")
    .addHelpText(
      "after",
      examples({
        "tightbeam calls list --status missed": "what was missed",
        "tightbeam calls get <id>": "one call with its history",
      }),
    );
  addPaging(
    calls
      .command("list")
      .description("List calls, the newest first.")
      .addOption(new Option("--status <status>", "only those in this status").choices(CALL_STATUSES)),
  )
    .addHelpText("after", examples({ "tightbeam calls list --limit 5": "the last five" }))
    .action((options: Paging & CallQuery) => {
      const { list, listAll } = cli.client("messages").calls;
      return showList(
        cli,
        { list, listAll, itemsOf: (page) => page.calls, columns: COLUMNS, empty: "No calls." },
        options,
      );
    });
  calls
    .command("get")
    .description("Show one call with its history.")
    .argument("<id>", "call id (call_…)")
    .addHelpText("after", examples({ "tightbeam calls get <id> | jq -r .status": "one field of it" }))
    .action(async (id: string) => cli.output().show(await cli.client("messages").calls.get(id), detail));
}

function kindOf({ isVideo }: Call): string {
  return isVideo ? "video" : "audio";
}

function detail(call: Call, paint: Paint, width: number): string {
  const { id, status, caller, to, history } = call;
  const steps = table(
    history,
    [
      { title: "AT", value: (step) => step.at },
      { title: "STATUS", value: (step) => step.status, style: (step) => statusStyle(step.status) },
    ],
    paint,
    width,
    "",
  );
  return `${listing({ id, status, kind: kindOf(call), caller, to }, paint)}\n\n${steps}`;
}
