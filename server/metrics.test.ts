/** Tests of the metrics: their names, their help and units, and that two sets of them do not share a count. */

import assert from "node:assert/strict";
import test from "node:test";
import { until } from "../test/support/wait.ts";
import { createMetrics } from "./metrics.ts";

function lines(text: string, name: string): string[] {
  return text.split("\n").filter((line) => line.startsWith(name));
}

test("every metric of the service is named tightbeam_, has a help text and ends in its unit", async (t) => {
  const metrics = createMetrics();
  t.after(metrics.stop);
  const text = await metrics.render();
  const names = [...text.matchAll(/^# TYPE (tightbeam_\S+)/gm)].map((match) => match[1] ?? "");
  assert.deepEqual(names.sort(), [
    "tightbeam_accepts_waiting",
    "tightbeam_commit_duration_seconds",
    "tightbeam_commit_group_units",
    "tightbeam_deliveries_given_back_total",
    "tightbeam_delivery_attempts_total",
    "tightbeam_due_lag_seconds",
    "tightbeam_event_loop_delay_seconds",
    "tightbeam_held_messages",
    "tightbeam_http_request_duration_seconds",
    "tightbeam_http_requests_total",
    "tightbeam_in_flight_rows",
    "tightbeam_lag_seconds",
    "tightbeam_messages_accepted_total",
    "tightbeam_messages_total",
    "tightbeam_oldest_due_seconds",
    "tightbeam_outcomes_unknown_total",
    "tightbeam_quarantined_rows",
    "tightbeam_requests_unlogged_total",
    "tightbeam_units_committed_total",
    "tightbeam_webhook_breakers_open",
  ]);
  for (const name of names) assert.match(text, new RegExp(`^# HELP ${name} .{10,}\\.$`, "m"));
});

test("every counted value is rendered with its labels", async (t) => {
  const metrics = createMetrics();
  t.after(metrics.stop);
  metrics.messagesAccepted.inc();
  metrics.transactionsCommitted.inc(3);
  metrics.commitGroupUnits.observe(3);
  metrics.commitSeconds.observe(0.002);
  metrics.dueLagSeconds.observe({ loop: "deliver" }, 0.02);
  metrics.deliveryAttempts.timeout += 1;
  metrics.inFlight.deliver = 7;
  metrics.oldestDueSeconds.set({ queue: "dispatch" }, 12);
  metrics.outcomesUnknown.inc();
  metrics.countRequest({ method: "GET", route: "/v1/messages/:id", status: 404, durationMs: 3 });
  metrics.countRequest({ method: "GET", route: null, status: 404, durationMs: 3 });
  const text = await metrics.render();
  for (const line of [
    "tightbeam_messages_accepted_total 1",
    "tightbeam_units_committed_total 3",
    'tightbeam_commit_group_units_bucket{le="2"} 0',
    'tightbeam_commit_group_units_bucket{le="4"} 1',
    'tightbeam_commit_duration_seconds_bucket{le="0.0025"} 1',
    'tightbeam_due_lag_seconds_bucket{le="0.05",loop="deliver"} 1',
    'tightbeam_delivery_attempts_total{outcome="timeout"} 1',
    'tightbeam_delivery_attempts_total{outcome="succeeded"} 0',
    'tightbeam_in_flight_rows{loop="deliver"} 7',
    'tightbeam_in_flight_rows{loop="dispatch"} 0',
    'tightbeam_oldest_due_seconds{queue="dispatch"} 12',
    "tightbeam_outcomes_unknown_total 1",
    'tightbeam_http_requests_total{method="GET",route="/v1/messages/:id",status="4xx"} 1',
    'tightbeam_http_requests_total{method="GET",route="unmatched",status="4xx"} 1',
    'tightbeam_http_request_duration_seconds_bucket{le="0.005",method="GET",route="/v1/messages/:id"} 1',
  ]) {
    assert.ok(
      text.split("\n").includes(line),
      `${line} is missing:\n${lines(text, line.split(/[{ ]/)[0] ?? "").join("\n")}`,
    );
  }
});

test("metrics of the process and of Node have their usual names", async (t) => {
  const metrics = createMetrics();
  t.after(metrics.stop);
  const text = await metrics.render();
  for (const name of ["process_resident_memory_bytes", "process_cpu_seconds_total", "nodejs_heap_size_used_bytes"]) {
    assert.equal(lines(text, `${name} `).length, 1, name);
  }
});

test("two sets of metrics in one process share nothing", async (t) => {
  const [one, other] = [createMetrics(), createMetrics()];
  t.after(one.stop);
  t.after(other.stop);
  one.messagesAccepted.inc();
  assert.match(await other.render(), /^tightbeam_messages_accepted_total 0$/m);
});

test("a blocked event loop shows in its delay", async (t) => {
  const metrics = createMetrics();
  t.after(metrics.stop);
  let rounds = 0;
  await until(() => {
    const end = performance.now() + 100;
    while (performance.now() < end);
    rounds += 1;
    return rounds === 5;
  });
  const match = /tightbeam_event_loop_delay_seconds\{quantile="1"\} (\S+)/.exec(await metrics.render());
  assert.ok(Number(match?.[1]) > 0.05, match?.[0] ?? "not rendered");
});
