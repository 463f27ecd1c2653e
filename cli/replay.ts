/** `tightbeam webhooks replay`: sends the events of a period again, shows how far that is, and stops it. */

import type { Tightbeam } from "../sdk/client.ts";
import { EVENT_TYPES, type EventType, type Replay, type ReplayEvents, type StartedReplay } from "../sdk/wire.ts";
import { parseDuration } from "../server/core/duration.ts";
import type { Cli } from "./cli.ts";
import { type CommandRow, present } from "./command.ts";
import { Failure, UsageError } from "./failure.ts";
import { Progress } from "./progress.ts";
import { REQUEST_FIELDS } from "./request-fields.ts";
import { oneOrMore } from "./values.ts";

interface ReplayOptions {
  since: string;
  until?: string;
  types?: EventType[];
  failed?: boolean;
}

const ENDPOINT = { "[id]": "endpoint id (wh_…); default: the primary endpoint" };
const FIELDS = REQUEST_FIELDS.ReplayEvents;
/** Time between two requests: a key has 100 a minute. */
const REQUEST_MS = 1_000;
/** Requests without a change after which the command ends although deliveries are open: the first retry comes after 30 s. */
const UNCHANGED_MAX = 10;
const INTERRUPTED = "Interrupted: the service goes on delivering. tightbeam webhooks replay-stop ends the replay.";

/** Replays events to an endpoint, shows the replay, and stops it. */
export const replayCommands: CommandRow[] = [
  {
    name: "replay",
    help: "Send the events of a period again, including those missed while the endpoint was away.",
    arguments: ENDPOINT,
    options: {
      "--since <time>": { help: `${FIELDS.since}: ISO 8601, or how long ago, such as 10m or 1d`, required: true },
      "--until <time>": `${FIELDS.until}: likewise`,
      "--types <list>": { help: `${FIELDS.types}, with commas between`, parse: oneOrMore(EVENT_TYPES) },
      "--failed":
        "only events that the endpoint has not answered with 2xx, those it missed while it was paused included",
    },
    examples: {
      "tightbeam webhooks replay --since 10m": "the events of the last ten minutes, to the primary endpoint",
      "tightbeam webhooks replay --since 7d --failed": "what the endpoint has not got in the last week",
      "tightbeam webhooks replay <id> --since 2031-05-01T09:00:00Z --types message.inbound": "one type",
    },
    notes:
      "On a terminal the command waits until the deliveries have ended, or only retries are left. Ctrl-C ends only the wait.",
    run,
  },
  {
    name: "recover",
    help: "Send what an endpoint has not answered with 2xx again, and what it missed while it was paused.",
    arguments: ENDPOINT,
    options: {
      "--since <time>": { help: `${FIELDS.since}: ISO 8601, or how long ago, such as 10m or 1d`, required: true },
    },
    examples: { "tightbeam webhooks recover --since 1d": "after an outage of the receiver" },
    notes: "The same as `webhooks replay --failed`.",
    run: (cli, id: string | undefined, options: ReplayOptions) => run(cli, id, { ...options, failed: true }),
  },
  {
    name: "replay-status",
    help: "Show the last replay of an endpoint.",
    arguments: ENDPOINT,
    examples: { "tightbeam webhooks replay-status | jq .made": "how many deliveries it has made" },
    run: async (cli, id: string | undefined) => {
      const client = cli.client();
      const found = await client.webhooks.getReplay(await endpointOf(client.webhooks, id));
      cli.output().show(found, (replay) => (replay === null ? "There was no replay." : summary(replay)));
    },
  },
  {
    name: "replay-stop",
    help: "Stop the replay of an endpoint. Its deliveries that were not tried are cancelled.",
    arguments: ENDPOINT,
    examples: { "tightbeam webhooks replay-stop": "of the primary endpoint" },
    run: async (cli, id: string | undefined) => {
      const client = cli.client();
      cli.output().show(await client.webhooks.stopReplay(await endpointOf(client.webhooks, id)), summary);
    },
  },
];

/** The id of an endpoint, the primary one if none is named. Throws `UsageError` if there is none. */
export async function endpointOf(webhooks: Tightbeam["webhooks"], id: string | undefined): Promise<string> {
  const target = id ?? (await webhooks.get())?.id;
  if (target === undefined) throw new UsageError("no webhook is configured, and no endpoint was named.");
  return target;
}

async function run(cli: Cli, id: string | undefined, options: ReplayOptions): Promise<void> {
  const client = cli.client();
  const target = await endpointOf(client.webhooks, id);
  const begun = await client.webhooks.replay(target, requestOf(options, Date.now()));
  const output = cli.output();
  output.show(
    begun,
    ({ id, deliveries }) => `${id} to ${target}: ${deliveries === null ? "many deliveries" : count(deliveries)}`,
  );
  if (output.json) return;
  const ended = await untilEnded(cli, client, target, begun);
  if (ended !== null) output.progress((paint) => paint(ended.failed === 0 ? "green" : "yellow", summary(ended)));
}

/** The request: a duration is that long before `now`. */
function requestOf({ since, until, types, failed }: ReplayOptions, now: number): ReplayEvents {
  const end = until === undefined ? undefined : instantOf(until, now);
  const only = failed === true ? ("failed" as const) : undefined;
  return { since: instantOf(since, now), ...present({ until: end, types, only }) };
}

function instantOf(text: string, now: number): string {
  const agoMs = parseDuration(text);
  return agoMs === null || agoMs > now ? text : new Date(now - agoMs).toISOString();
}

/**
 * Shows the progress of a replay until it is over and its deliveries have ended, or nothing has changed for a while: what failed is
 * retried for days. Returns the replay as it was last read; null after an interrupt.
 */
async function untilEnded(
  cli: Cli,
  client: Tightbeam,
  webhookId: string,
  begun: StartedReplay,
): Promise<Replay | null> {
  const progress = new Progress(cli.terminal, { interrupted: INTERRUPTED });
  const stop = new AbortController();
  const release = cli.terminal.onInterrupt(() => stop.abort());
  try {
    return await progress.during(async () => {
      for (let [before, unchanged] = ["", 0]; ; ) {
        const replay = await client.webhooks.getReplay(webhookId);
        if (replay?.id !== begun.id) return null;
        const { status, made, deliveries, succeeded, failed } = replay;
        const total = status === "running" ? Math.max(deliveries ?? 0, made) : made;
        progress.show("replaying", succeeded + failed, total, "deliveries");
        const now = JSON.stringify(replay);
        unchanged = now === before ? unchanged + 1 : 0;
        before = now;
        if (status !== "running" && (succeeded + failed >= made || unchanged === UNCHANGED_MAX)) return replay;
        await cli.terminal.sleep(REQUEST_MS, stop.signal);
      }
    });
  } catch (error) {
    if (!(error instanceof Failure) || !stop.signal.aborted) throw error;
    cli.output().note(INTERRUPTED);
    return null;
  } finally {
    release();
  }
}

const count = (n: number) => `${n} ${n === 1 ? "delivery" : "deliveries"}`;

function summary({ id, status, made, succeeded, failed }: Replay): string {
  const open = made - succeeded - failed;
  const parts = [
    `${succeeded} succeeded`,
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(open > 0 ? [`${open} waiting or retried`] : []),
  ];
  return `${id} ${status}: ${count(made)}, ${parts.join(", ")}`;
}
