/** The metrics of one process in their own registry, as Prometheus reads them. Counts, and decides nothing. */

import { monitorEventLoopDelay } from "node:perf_hooks";
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";

/** A completed request. `route` is the pattern of its route; null if no route matched. */
export interface RequestSample {
  method: string;
  route: string | null;
  status: number;
  durationMs: number;
}

/** Handles of all metrics, and their text. */
export interface Metrics {
  /** Accepted messages, without repeats of an idempotency key. */
  messagesAccepted: Counter;
  /** Statuses that messages reached in this process. */
  messages: Counter<"status" | "channel" | "error_code">;
  /** Committed transactions. */
  transactionsCommitted: Counter;
  /** Transactions of one commit. */
  commitGroupUnits: Histogram;
  /** Seconds of one commit, including its fsync. */
  commitSeconds: Histogram;
  /** Seconds between the time a row was due and its claim. */
  dueLagSeconds: Histogram<"loop">;
  /** Attempts to deliver that ended: `succeeded`, `failed`, `refused` (an address webhooks may not go to) or `timeout`. */
  deliveryAttempts: Record<(typeof OUTCOMES)[number], number>;
  /**
   * Deliveries that were released untried because this machine had no files (`out_of_files`) or ports (`out_of_ports`)
   * left.
   */
  deliveriesGivenBack: Counter<"limit">;
  /** Rows that a loop has claimed and not finished. */
  inFlight: Record<(typeof LOOPS)[number], number>;
  /** Seconds since the oldest due row became due; 0 if no row is due. */
  oldestDueSeconds: Gauge<"queue">;
  /** Seconds for which the oldest work that could start has waited for this process. */
  lagSeconds: Gauge<"loop">;
  /** Receivers of webhooks that this process cannot reach. */
  breakersOpen: Gauge;
  /** Accepts that wait because work lags. */
  acceptsWaiting: Gauge;
  /** Rows in quarantine. */
  quarantinedRows: Gauge<"table">;
  /** Requests that are missing in the request log. */
  requestsUnlogged: Counter;
  /** Messages held after a restore. */
  heldMessages: Gauge;
  /** Send attempts whose outcome is unknown. */
  outcomesUnknown: Counter;
  countRequest(request: RequestSample): void;
  /** Content type of `render`. */
  contentType: string;
  /** The text that Prometheus reads. */
  render(): Promise<string>;
  /** Ends the measuring of the event loop. */
  stop(): void;
}

const FAST_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];
const LAG_SECONDS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300, 1_800, 7_200];
const GROUP_UNITS = [1, 2, 4, 8, 16, 32, 64];
/** The two loops, each with a queue of due rows: messages and deliveries. */
const LOOPS = ["dispatch", "deliver"] as const;
const OWN_LIMITS = ["out_of_files", "out_of_ports"] as const;
const OUTCOMES = ["succeeded", "failed", "refused", "timeout"] as const;

/** New metrics, all at zero, with the metrics of the process and of Node under their usual names. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const stop = measureEventLoop(registry);
  const metrics = {
    ...storeMetrics(registers),
    ...loopMetrics(registers),
    ...plainMetrics(registers),
    messagesAccepted: new Counter({
      name: "tightbeam_messages_accepted_total",
      help: "Messages accepted, repeats of an idempotent request not counted.",
      registers,
    }),
    messages: new Counter({
      name: "tightbeam_messages_total",
      help: "Statuses that messages reached, by status, channel and error code; received for those of contacts.",
      labelNames: ["status", "channel", "error_code"],
      registers,
    }),
    requestsUnlogged: new Counter({
      name: "tightbeam_requests_unlogged_total",
      help: "Requests that are missing in the request log, because too many came at once or the database took no writes.",
      registers,
    }),
    countRequest: requestMetrics(registers),
    contentType: registry.contentType,
    render: () => registry.metrics(),
    stop,
  };
  for (const limit of OWN_LIMITS) metrics.deliveriesGivenBack.inc({ limit }, 0);
  for (const loop of LOOPS) {
    metrics.oldestDueSeconds.set({ queue: loop }, 0);
    metrics.lagSeconds.set({ loop }, 0);
  }
  return metrics;
}

type Registers = Registry[];

function storeMetrics(registers: Registers) {
  return {
    transactionsCommitted: new Counter({
      name: "tightbeam_units_committed_total",
      help: "Transactions committed to disk.",
      registers,
    }),
    commitGroupUnits: new Histogram({
      name: "tightbeam_commit_group_units",
      help: "Transactions that shared one commit.",
      buckets: GROUP_UNITS,
      registers,
    }),
    quarantinedRows: new Gauge({
      name: "tightbeam_quarantined_rows",
      help: "Rows in quarantine because they cannot be decoded, by table; a table without any has no sample.",
      labelNames: ["table"],
      registers,
    }),
    heldMessages: new Gauge({
      name: "tightbeam_held_messages",
      help: "Messages held after a restore, until a receipt, a lookup or a person ends the hold; counted up to 1,000.",
      registers,
    }),
    commitSeconds: new Histogram({
      name: "tightbeam_commit_duration_seconds",
      help: "Time one commit took, its fsync included.",
      buckets: FAST_SECONDS,
      registers,
    }),
  } as const;
}

function loopMetrics(registers: Registers) {
  return {
    dueLagSeconds: new Histogram({
      name: "tightbeam_due_lag_seconds",
      help: "How late a due row was claimed, by loop.",
      labelNames: ["loop"],
      buckets: LAG_SECONDS,
      registers,
    }),
    deliveriesGivenBack: new Counter({
      name: "tightbeam_deliveries_given_back_total",
      help: "Deliveries that went back untried and uncounted, by the limit of this machine that was reached.",
      labelNames: ["limit"],
      registers,
    }),
    oldestDueSeconds: new Gauge({
      name: "tightbeam_oldest_due_seconds",
      help: "For how long the oldest due row has been due, by queue.",
      labelNames: ["queue"],
      registers,
    }),
    lagSeconds: new Gauge({
      name: "tightbeam_lag_seconds",
      help: "For how long the oldest work that could start now has waited for this process, by loop.",
      labelNames: ["loop"],
      registers,
    }),
    breakersOpen: new Gauge({
      name: "tightbeam_webhook_breakers_open",
      help: "Receivers of webhooks that this process cannot reach, so that their due deliveries wait.",
      registers,
    }),
    acceptsWaiting: new Gauge({
      name: "tightbeam_accepts_waiting",
      help: "Requests to send a message that wait because messages or deliveries lag.",
      registers,
    }),
    outcomesUnknown: new Counter({
      name: "tightbeam_outcomes_unknown_total",
      help: "Send attempts whose outcome was unknown.",
      registers,
    }),
  } as const;
}

/** Numbers that change several times a message: plain ones, which the metrics get whenever they are read. */
function plainMetrics(registers: Registers) {
  const deliveryAttempts = { succeeded: 0, failed: 0, refused: 0, timeout: 0 };
  const inFlight = { dispatch: 0, deliver: 0 };
  new Counter({
    name: "tightbeam_delivery_attempts_total",
    help: "Attempts to deliver an event that ended, by outcome.",
    labelNames: ["outcome"],
    registers,
    collect() {
      this.reset();
      for (const outcome of OUTCOMES) this.inc({ outcome }, deliveryAttempts[outcome]);
    },
  });
  new Gauge({
    name: "tightbeam_in_flight_rows",
    help: "Rows claimed and not finished, by loop; for dispatch, those with a permit.",
    labelNames: ["loop"],
    registers,
    collect() {
      for (const loop of LOOPS) this.set({ loop }, inFlight[loop]);
    },
  });
  return { deliveryAttempts, inFlight };
}

function requestMetrics(registers: Registers): (request: RequestSample) => void {
  const requests = new Counter({
    name: "tightbeam_http_requests_total",
    help: "HTTP requests answered, by method, route pattern and class of status.",
    labelNames: ["method", "route", "status"],
    registers,
  });
  const seconds = new Histogram({
    name: "tightbeam_http_request_duration_seconds",
    help: "Time from a request's headers to the end of its answer, by method and route pattern.",
    labelNames: ["method", "route"],
    buckets: FAST_SECONDS,
    registers,
  });
  return ({ method, route: pattern, status, durationMs }) => {
    const route = pattern ?? "unmatched";
    requests.inc({ method, route, status: `${Math.floor(status / 100)}xx` });
    seconds.observe({ method, route }, durationMs / 1000);
  };
}

const NANOSECONDS = 1e9;
const SAMPLE_MS = 20;

/** Delay of timers beyond their requested time, since the metrics were last read. */
function measureEventLoop(registry: Registry): () => void {
  const delays = monitorEventLoopDelay({ resolution: SAMPLE_MS });
  delays.enable();
  new Gauge({
    name: "tightbeam_event_loop_delay_seconds",
    help: "How late timers run because the event loop is busy, since the last reading, by quantile.",
    labelNames: ["quantile"],
    registers: [registry],
    collect() {
      for (const [quantile, seconds] of Object.entries(readDelays(delays))) this.set({ quantile }, seconds);
      delays.reset();
    },
  });
  return () => void delays.disable();
}

/** Seconds by quantile, without the sample interval itself. */
function readDelays(delays: ReturnType<typeof monitorEventLoopDelay>): Record<string, number> {
  if (delays.count === 0) return { "0.5": 0, "0.99": 0, "1": 0 };
  const beyond = (nanoseconds: number) => Math.max(0, nanoseconds / NANOSECONDS - SAMPLE_MS / 1000);
  return { "0.5": beyond(delays.percentile(50)), "0.99": beyond(delays.percentile(99)), "1": beyond(delays.max) };
}
