/** A sandbox on a memory of its own in simulated time, with its signals: for tests of the provider alone. */

import type { Channel } from "../../sdk/wire.ts";
import type { MessageId } from "../../server/core/id.ts";
import type { Outbound, Outcome, ProviderContext, Signal } from "../../server/providers/provider.ts";
import { createSandbox } from "../../server/providers/sandbox/sandbox.ts";
import { SimulatedClock } from "./clock.ts";
import { outboundMessage } from "./outbound.ts";
import { providerContext, remembering } from "./provider.ts";

export const NEVER = new AbortController().signal;

/** A memory that counts its writes and fails them on demand, and a sandbox on it whose signals are kept with their time. */
export async function stage(entries = new Map<string, string>(), context: Partial<ProviderContext> = {}) {
  const clock = new SimulatedClock(0);
  const writes = { puts: 0, deletes: 0, failing: 0 };
  const refusing = { signals: 0 };
  const attempted = () => {
    if (writes.failing === 0) return;
    writes.failing -= 1;
    throw new Error("the disk is full");
  };
  const bare = createSandbox(
    providerContext({
      ...context,
      clock,
      memory: {
        list: async (prefix) =>
          [...entries].filter(([key]) => key.startsWith(prefix)).map(([key, value]) => ({ key, value })),
        put: async (key, value) => {
          attempted();
          writes.puts += 1;
          entries.set(key, value);
        },
        delete: async (key) => void entries.delete(key),
      },
    }),
  );
  const sandbox = remembering(bare, async (stored, conclude) => {
    attempted();
    conclude();
    for (const { key, value } of stored) {
      writes.puts += 1;
      entries.set(key, value);
    }
  });
  const reported: string[] = [];
  const signals: Signal[] = [];
  await sandbox.start(async (signal) => {
    if (refusing.signals > 0) {
      refusing.signals -= 1;
      throw new Error("the store is busy");
    }
    if (signal.forget !== undefined) {
      attempted();
      writes.deletes += 1;
      entries.delete(signal.forget);
    }
    if (signal.kind === "receipt") reported.push(`${signal.receipt}@${clock.real()}`);
    signals.push(signal);
    return "applied";
  });
  const send = async (message: Outbound, abort = NEVER): Promise<Outcome> => {
    let outcome: Outcome | null = null;
    const sending = sandbox.send(message, abort).then((answer) => {
      outcome = answer;
      return answer;
    });
    await clock.advanceUntil(() => outcome !== null, 60_000);
    return await sending;
  };
  return { clock, sandbox, entries, writes, refusing, reported, signals, send };
}

export const ID: MessageId = "msg_01890000-0000-7000-8000-000000000001";

/** A message to the number of the table that ends with `to`, or to an e-mail address. */
export function message(to: string, channel: Channel = "imessage", attempt = 1): Outbound {
  const address = to.includes("@") ? to : `+1500555${to}`;
  return outboundMessage({ messageId: ID, to: address, channel, attempt });
}
