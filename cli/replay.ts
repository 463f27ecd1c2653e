/** `tightbeam webhooks replay`: sends the events of a period again, and on a terminal shows how many were tried. */

import type { Tightbeam } from "../sdk/client.ts";
import { EVENT_TYPES, type EventType } from "../sdk/wire.ts";
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
}

const FIELDS = REQUEST_FIELDS.Replay;
const PAGE_SIZE = 100;
/** More waiting deliveries than these pages hold are not counted: a key has 100 requests a minute. */
const PAGES_MAX = 10;
/** Time between two requests. */
const REQUEST_MS = 1_000;

/** Replays events to an endpoint. */
export const replay: CommandRow = {
  name: "replay",
  help: "Send the events of a period again, including those missed while the endpoint was away.",
  arguments: { "[id]": "endpoint id (wh_…); default: the primary endpoint" },
  options: {
    "--since <time>": { help: `${FIELDS.since}: ISO 8601, or how long ago, such as 10m or 1d`, required: true },
    "--until <time>": `${FIELDS.until}: likewise`,
    "--types <list>": { help: `${FIELDS.types}, with commas between`, parse: oneOrMore(EVENT_TYPES) },
  },
  examples: {
    "tightbeam webhooks replay --since 10m": "the events of the last ten minutes, to the primary endpoint",
    "tightbeam webhooks replay <id> --since 2031-05-01T09:00:00Z --types message.inbound": "one type",
  },
  notes: "On a terminal the command waits until each delivery was tried once. Ctrl-C ends only the wait.",
  run,
};

async function run(cli: Cli, id: string | undefined, options: ReplayOptions): Promise<void> {
  const client = cli.client();
  const target = id ?? (await client.webhooks.get())?.id;
  if (target === undefined) throw new UsageError("no webhook is configured, and no endpoint was named.");
  const replayed = await client.webhooks.replay(target, periodOf(options, Date.now()));
  const output = cli.output();
  output.show(replayed, ({ deliveries }) => `${deliveries} deliveries under way to ${target}`);
  if (output.json || replayed.deliveries === 0) return;
  const tried = await untilTried(cli, client, target, replayed.deliveries);
  if (tried)
    output.progress((paint) => paint("green", `Each was tried: tightbeam webhooks deliveries --webhook ${target}`));
}

/** The request: a duration is that long before `now`. */
function periodOf({ since, until, types }: ReplayOptions, now: number) {
  const end = until === undefined ? undefined : instantOf(until, now);
  return { since: instantOf(since, now), ...present({ until: end, types }) };
}

function instantOf(text: string, now: number): string {
  const agoMs = parseDuration(text);
  return agoMs === null || agoMs > now ? text : new Date(now - agoMs).toISOString();
}

/** Shows the progress until no delivery of the replay waits for its first attempt. Returns false after an interrupt. */
async function untilTried(cli: Cli, client: Tightbeam, webhookId: string, total: number): Promise<boolean> {
  const interrupted = "Interrupted: the service goes on delivering.";
  const progress = new Progress(cli.terminal, { interrupted });
  const stop = new AbortController();
  const release = cli.terminal.onInterrupt(() => stop.abort());
  try {
    await progress.during(async () => {
      progress.show("trying", 0, total, "deliveries");
      for (let newest: string | null = null; ; ) {
        const { waiting, newestAt, requests } = await countWaiting(client, webhookId, newest);
        newest ??= newestAt;
        if (waiting === 0) return;
        if (waiting !== null) progress.show("trying", Math.max(0, total - waiting), total, "deliveries");
        await cli.terminal.sleep(requests * REQUEST_MS, stop.signal);
      }
    });
    return true;
  } catch (error) {
    if (!(error instanceof Failure) || !stop.signal.aborted) throw error;
    cli.output().note(interrupted);
    return false;
  } finally {
    release();
  }
}

interface Waiting {
  /** Deliveries without an attempt; null if there are more than can be counted. */
  waiting: number | null;
  /** When the newest of the pending deliveries was created. */
  newestAt: string | null;
  requests: number;
}

/** Counts the endpoint's deliveries that wait for their first attempt, without those created after `until`. */
async function countWaiting(client: Tightbeam, webhookId: string, until: string | null): Promise<Waiting> {
  const found: Waiting = { waiting: 0, newestAt: null, requests: 0 };
  let [count, cursor] = [0, undefined as string | undefined];
  while (found.requests < PAGES_MAX) {
    const query = { webhookId, status: "pending", limit: PAGE_SIZE, cursor } as const;
    const { deliveries, pagination } = await client.webhooks.deliveries.list(query);
    found.requests += 1;
    found.newestAt ??= deliveries[0]?.createdAt ?? null;
    const waits = deliveries.filter(
      ({ attempts, createdAt }) => attempts.length === 0 && (until === null || createdAt <= until),
    );
    count += waits.length;
    cursor = pagination.nextCursor ?? undefined;
    if (cursor === undefined) return { ...found, waiting: count };
  }
  return { ...found, waiting: null };
}
