/** `tightbeam trigger`: makes an event happen through the sandbox, and waits for it. */

import type { Tightbeam } from "../sdk/client.ts";
import { TightbeamError } from "../sdk/errors.ts";
import { type AnyEvent, EVENT_TYPES, type EventType } from "../sdk/wire.ts";
import type { Cli } from "./cli.ts";
import type { CommandRow } from "./command.ts";
import { eventLine } from "./events.ts";
import { Failure, UsageError } from "./failure.ts";
import { table } from "./table.ts";
import { oneOf } from "./values.ts";

/** The longest wait that the service accepts; every trigger takes less. */
const EVENT_SECONDS_MAX = 30;

/** Makes an event happen in the sandbox. */
export const trigger: CommandRow = {
  name: "trigger",
  help: "Make an event happen in the sandbox, by the steps that really lead to it, and wait for it.",
  arguments: {
    "[event]": { help: "its type, such as message.read", choices: EVENT_TYPES, parse: oneOf(EVENT_TYPES) },
  },
  options: { "--list": "list every type, and its steps" },
  examples: {
    "tightbeam trigger message.failed": "send to a number that cannot be reached",
    "tightbeam trigger payment.request.paid": "request money from a contact that pays",
    "tightbeam trigger --list": "every type, and its steps",
    "tightbeam listen --forward-to 3000": "in another terminal: forward it to your receiver",
  },
  notes:
    "Only for customers of the sandbox; it sends to the sandbox's numbers. Its messages stay until `tightbeam sandbox reset`.",
  run: async (cli, type: EventType | undefined, options: { list?: boolean }) => {
    if (options.list) return await showAll(cli);
    if (type === undefined) throw new UsageError("which event? tightbeam trigger --list shows them.");
    await triggerEvent(cli, type);
  },
};

async function showAll(cli: Cli): Promise<void> {
  const { TRIGGERS } = await import("../sdk/triggers.ts");
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

async function triggerEvent(cli: Cli, type: EventType): Promise<void> {
  const { TRIGGERS } = await import("../sdk/triggers.ts");
  const { steps, run } = TRIGGERS[type];
  const client = cli.client();
  await requireSandbox(client);
  if (type === "webhook.test") await requireWebhook(client);
  const output = cli.output();
  output.progress((paint) => paint("dim", steps));
  const after = (await client.events.list({ limit: 1 })).events[0]?.id;
  const { messageId } = await run(client);
  const event: AnyEvent | null = await client.sandbox.wait({
    type,
    after,
    messageId,
    timeoutSeconds: EVENT_SECONDS_MAX,
  });
  if (event === null) throw new Failure("NOT_YET", `No ${type} came within ${EVENT_SECONDS_MAX} s.`);
  output.show(event, eventLine);
}

/** The steps send to fictional numbers. Through a real instance that would cost money, or reach people. */
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

async function requireWebhook(client: Tightbeam): Promise<void> {
  if ((await client.webhooks.get()) !== null) return;
  throw new Failure("WEBHOOK_NOT_CONFIGURED", "There is no webhook to test.", ["tightbeam webhooks set <url>"]);
}
