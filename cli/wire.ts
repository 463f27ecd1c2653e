/** `tightbeam wire`: requests, what the service did with them, events, deliveries and retries as they happen, a line each. */

import { clockSetBetween, formatShift, realTime } from "../sdk/wire-clock.ts";
import type { WireRow } from "../sdk/wire-rows.ts";
import { printableLine } from "../server/core/printable.ts";
import type { Cli } from "./cli.ts";
import type { CommandRow } from "./command.ts";
import type { Paint, Style } from "./output.ts";
import { cut, shortId } from "./table.ts";
import { widthOf } from "./width.ts";
import { WireHold } from "./wire-hold.ts";

/** Prints the Wire. */
export const wire: CommandRow = {
  name: "wire",
  help: "Show requests, hops, events, deliveries and retries as they happen: cause beside effect, a line each.",
  options: { "--message <id>": "only what concerns this message (msg_…)" },
  examples: {
    "tightbeam wire": "everything of your customer, until Ctrl-C",
    "tightbeam wire --message <id>": "one message, from its request to your receiver's response",
    "tightbeam wire | jq -r .title": "JSON, a line for each row",
  },
  notes: `Each line: milliseconds since the one before, its direction (→ came in, · inside, ← went out), subject, status and reason.
A line of its own tells where the sandbox's clock was set; while it is ahead, each line says so: \`clock +1 h\`. Requests are in it if the request log is on.`,
  run: follow,
};

async function follow(cli: Cli, { message }: { message?: string }): Promise<void> {
  const output = cli.output();
  const stop = new AbortController();
  const release = cli.terminal.onInterrupt(() => stop.abort());
  const onGap = () => output.note("Events were missed: the service no longer keeps the last one seen.");
  const onReconnect = () => output.note("Connected again. Requests and deliveries of the meantime are in their lists.");
  const fresh = freshRows();
  const hold = new WireHold(performance.now.bind(performance));
  let timer: ReturnType<typeof setTimeout> | undefined;
  const dividerBefore = clockDividers();
  const print = (rows: readonly WireRow[]) => {
    for (const row of fresh(rows)) {
      const divider = output.json ? null : dividerBefore(row);
      if (divider !== null) output.line((paint) => paint("yellow", divider));
      output.line((paint, width) => (output.json ? JSON.stringify(row) : wireLine(row, paint, width)));
    }
  };
  const printDue = () => {
    print(hold.takeDue());
    timer = hold.waitMs === null ? undefined : setTimeout(printDue, hold.waitMs);
  };
  try {
    // Fails at once if the server is down or the key is wrong; later a lost connection is waited for.
    await cli.client().events.list({ limit: 1 });
    const client = cli.client("messages", "waits");
    output.note(`On the wire of ${cli.connection("messages").baseUrl}. Ctrl-C ends it.`);
    for await (const item of client.wire.stream({ messageId: message, signal: stop.signal, onGap, onReconnect })) {
      hold.add(item);
      timer ??= setTimeout(printDue, hold.waitMs ?? 0);
    }
  } catch (error) {
    if (!stop.signal.aborted) throw error;
  } finally {
    clearTimeout(timer);
    print(hold.takeAll());
    release();
  }
}

/** Rows that are remembered, so that none is printed twice. */
const SEEN_MAX = 10_000;

/** Leaves out rows that were given before, and counts milliseconds from the row that was given last. */
export function freshRows(): (rows: readonly WireRow[]) => WireRow[] {
  const seen = new Set<string>();
  let lastAt: number | null = null;
  return (rows) =>
    rows.flatMap((row) => {
      // A retry is planned anew after each attempt.
      const key = row.kind === "retry" ? `${row.key} ${row.at}` : row.key;
      if (seen.has(key)) return [];
      const [oldest] = seen.add(key);
      if (seen.size > SEEN_MAX && oldest !== undefined) seen.delete(oldest);
      const at = realTime(row);
      const sinceMs = lastAt === null ? null : at - lastAt;
      if (row.kind !== "retry") lastAt = Math.max(at, lastAt ?? at);
      return [{ ...row, sinceMs }];
    });
}

/** The line before a row if the sandbox's clock was set since the row before, as the console's Wire has it; null if it was not. */
export function clockDividers(): (row: WireRow) => string | null {
  let beforeMs = 0;
  return ({ kind, shiftMs }) => {
    if (kind === "retry") return null;
    const words = clockSetBetween(beforeMs, shiftMs);
    beforeMs = shiftMs;
    return words === null ? null : `--- ${words} ---`;
  };
}

const ARROWS: Readonly<Record<WireRow["direction"], string>> = { in: "→", inside: "·", out: "←" };
const TONES: Readonly<Record<WireRow["tone"], Style>> = { ok: "green", warn: "yellow", bad: "red" };
const SINCE_WIDTH = 9;
const STATUS_WIDTH = 11;
const TITLE_WIDTH = 34;
const TITLE_WIDTH_MIN = 16;

/** A row in one line. */
export function wireLine(row: WireRow, paint: Paint, width: number): string {
  const { kind, at, shiftMs, sinceMs, direction, title, status, tone, ids, detail } = row;
  const since = kind === "retry" ? `at ${clock(at)}` : sinceMs === null ? clock(at) : sinceOf(sinceMs);
  const lead = `${paint("dim", since.padStart(SINCE_WIDTH + 3))} ${ARROWS[direction]} `;
  const word = (status ?? kind).padEnd(STATUS_WIDTH);
  const id = shortId(ids.message ?? ids.event ?? ids.request ?? "");
  const room = Math.max(TITLE_WIDTH_MIN, width - (SINCE_WIDTH + 3 + 3 + STATUS_WIDTH + 2));
  const moved = shiftMs > 0 ? `clock +${formatShift(shiftMs)}` : "";
  const text = printableLine([title.padEnd(TITLE_WIDTH), id, moved, detail].filter((part) => part !== "").join("  "));
  return `${lead}${paint(TONES[tone], word)}  ${widthOf(text) <= room ? text : cut(text, room)}`.trimEnd();
}

function clock(at: number): string {
  return `${new Date(at).toISOString().slice(11, 19)}Z`;
}

function sinceOf(ms: number): string {
  const past = Math.max(0, ms);
  if (past < 10_000) return `+${Math.round(past)} ms`;
  return past < 600_000 ? `+${Math.round(past / 1_000)} s` : `+${Math.round(past / 60_000)} min`;
}
