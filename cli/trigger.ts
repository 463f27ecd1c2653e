/** `tightbeam trigger`: makes an event happen, really, through the sandbox, and waits for it. */

import { Argument, type Command } from "commander";
import type { Tightbeam } from "../sdk/client.ts";
import { TightbeamError } from "../sdk/errors.ts";
import { EVENT_TYPES, type Event, type EventType } from "../sdk/wire.ts";
import { type Cli, examples } from "./command.ts";
import { eventLine } from "./events.ts";
import { Failure, UsageError } from "./failure.ts";
import { table } from "./table.ts";
import { oneOf } from "./values.ts";

/** The most that the service waits at once, and more than any of the steps takes. */
const EVENT_SECONDS_MAX = 30;

/** Adds `trigger`. */
export function addTrigger(program: Command, cli: Cli): void {
  program
    .command("trigger")
    .description("Make an event happen in the sandbox, by the steps that really lead to it, and wait for it.")
    .addArgument(
      new Argument("[event]", "its type, such as message.read").choices(EVENT_TYPES).argParser(oneOf(EVENT_TYPES)),
    )
    .option("--list", "list every type, and what makes it happen")
    .addHelpText(
      "after",
      `${examples({
        "tightbeam trigger message.failed": "send to somebody who cannot be reached",
        "tightbeam trigger payment.request.paid": "ask somebody for money who pays",
        "tightbeam trigger --list": "what there is, by which steps",
        "tightbeam listen --forward-to 3000": "in another terminal: have it forwarded to your receiver",
      })}\n\nIt works for customers of the sandbox only, and sends to its numbers. What it makes stays: \`tightbeam sandbox reset\`.`,
    )
    .action(async (type: EventType | undefined, { list }: { list?: boolean }) => {
      if (list) await showAll(cli);
      else if (type === undefined) throw new UsageError("which event? tightbeam trigger --list shows them.");
      else await trigger(cli, type);
    });
}

async function showAll(cli: Cli): Promise<void> {
  const { TRIGGERS } = await import("./triggers.ts");
  const rows = EVENT_TYPES.map((type) => ({ type, steps: TRIGGERS[type].steps }));
  cli.output().show(rows, (all, paint, width) =>
    table(
      all,
      [
        { title: "TYPE", value: (row) => row.type },
        { title: "STEPS", value: (row) => row.steps, wraps: true },
      ],
      paint,
      width,
      "",
    ),
  );
}

async function trigger(cli: Cli, type: EventType): Promise<void> {
  const { TRIGGERS } = await import("./triggers.ts");
  const found = TRIGGERS[type];
  const client = cli.client("messages");
  await requireSandbox(client);
  const output = cli.output();
  output.progress((paint) => paint("dim", found.steps));
  const after = (await client.events.list({ limit: 1 })).events[0]?.id;
  const { messageId } = await found.run(client);
  const event: Event | null = await client.sandbox.wait({
    type,
    after,
    messageId,
    timeoutSeconds: EVENT_SECONDS_MAX,
  });
  if (event === null) throw new Failure("NOT_YET", `No ${type} came within ${EVENT_SECONDS_MAX} s.`);
  output.show(event, (told, paint) => eventLine(told, paint));
}

/** The steps send to made-up numbers: with a real channel that would cost money, or reach somebody. */
async function requireSandbox(client: Tightbeam): Promise<void> {
  try {
    await client.sandbox.clock.get();
  } catch (error) {
    if (!(error instanceof TightbeamError) || error.status !== 404) throw error;
    throw new Failure(error.code, "This customer has a real instance: nothing is triggered there.", [
      "Make a customer with a number of the sandbox, and use a key of it.",
    ]);
  }
}
