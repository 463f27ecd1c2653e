/** The code of the deliver thread: runs the loop of deliveries over a store of its own, as the service calls it. */

import { parentPort, workerData } from "node:worker_threads";
import { systemClock } from "../clock.ts";
import { pauseAfter } from "../core/look-pause.ts";
import { createSealer } from "../secrets.ts";
import { RowUnreadable } from "../store/rows.ts";
import { connectStore } from "../store/sqlite/connect-store.ts";
import type { Store } from "../store/store.ts";
import {
  type DeliverCall,
  type DeliverMessage,
  type DeliverRequest,
  type DeliverStart,
  DeliverState,
} from "./deliver-messages.ts";
import { DeliverReporter } from "./deliver-report.ts";
import { type HostedLoop, runLoopHere } from "./webhook-loop.ts";

/** The pauses between two readings of the lag while something is in flight or waits: there may be thousands of lanes. */
const READINGS = { costFactor: 50, msMin: 10, msMax: 100 };
/** How often the lag is read while nothing is known to wait, in milliseconds: what waits for a look at the queue lags too. */
const IDLE_READING_MS = 1_000;

const start = workerData as DeliverStart;
if (parentPort === null) throw new Error("deliver-worker.ts runs in a worker thread only");
const port = parentPort;
const post = (message: DeliverMessage) => port.postMessage(message);
const state = new DeliverState(start.shared);
const reporter = new DeliverReporter((report) => post({ report }));
const store = connectStore(start.ports, reporter.committed);
const loop = createLoop(store);
const look = lagWatch();
setInterval(look, IDLE_READING_MS).unref();
port.on("message", (request: DeliverRequest) => void answer(request));

function createLoop(own: Store): HostedLoop {
  const { secretKey, settings } = start;
  const { observer } = reporter;
  return runLoopHere(
    {
      store: own,
      clock: systemClock(state.shift),
      chance: Math.random,
      settings,
      sealer: createSealer(Buffer.from(secretKey), () => {
        throw new Error("the deliver thread seals nothing");
      }),
      attempted: reporter.attempted,
      goneMarks: reporter.goneMarks,
      observer: {
        ...observer,
        inFlight(name, count) {
          observer.inFlight(name, count);
          look();
        },
        fault(where, error) {
          if (error instanceof RowUnreadable) own.quarantine(error.row);
          observer.fault(where, error);
        },
      },
    },
    start.loop,
  );
}

/** Publishes the lag while the loop has work. The returned function is called when it may have some. */
function lagWatch(): () => void {
  let isWatching = false;
  const watch = () => {
    if (isWatching) return;
    isWatching = true;
    setTimeout(publish, READINGS.msMin);
  };
  const publish = () => {
    const startedAt = performance.now();
    const lagMs = loop.lagMs();
    const tookMs = performance.now() - startedAt;
    const nextMs = pauseAfter(tookMs, READINGS);
    state.note(lagMs, loop.ended, nextMs);
    isWatching = lagMs > 0 || reporter.inFlight > 0;
    if (isWatching) setTimeout(publish, nextMs);
  };
  return watch;
}

async function answer({ id, call }: DeliverRequest): Promise<void> {
  let error: string | null = null;
  try {
    await run(call);
  } catch (failure) {
    if (id === null) throw failure;
    error = failure instanceof Error ? failure.message : String(failure);
  }
  if (id !== null) post({ id, error });
  if (call[0] === "close") port.close();
}

async function run(call: DeliverCall): Promise<void> {
  switch (call[0]) {
    case "start":
      return loop.start();
    case "wake":
      look();
      return loop.wake(call[1], call[2]);
    case "look":
      return loop.look();
    case "repaired":
      return loop.repaired();
    case "changed":
      return loop.changed(call[1]);
    case "drop":
      return loop.drop(call[1]);
    case "allow":
      return loop.allow(call[1]);
    case "cutOff":
      return loop.cutOff();
    case "stop":
      await loop.stop();
      return reporter.flush();
    case "close":
      await loop.close();
      return reporter.flush();
  }
}
