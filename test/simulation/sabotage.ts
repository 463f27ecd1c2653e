/** Sabotages of the service: each breaks one promise, and the oracle has to notice it. */

import type { Applied, Signal } from "../../server/providers/provider.ts";
import type { EncodedOperation, EncodedOutcome, Job } from "../../server/store/jobs/jobs.ts";
import { FINISHED_COLUMNS } from "../../server/store/jobs/jobs.ts";
import type { TableName } from "../../server/store/records.ts";
import { LAYOUT, type SqlValue } from "../../server/store/rows.ts";
import type { Rule } from "./story.ts";
import type { Sabotage } from "./world.ts";

/** A sabotage, created anew for each run because it counts calls. */
export interface Wrong {
  name: string;
  /** The rule that it breaks. */
  rule: Rule;
  sabotage(): Sabotage;
}

/** True for each `every`th call. */
function nowAndThen(every: number): () => boolean {
  let calls = 0;
  return () => {
    calls += 1;
    return calls % every === 0;
  };
}

/** Changes transactions before they are committed; the result stays `ok`. */
function forging(forge: (operations: EncodedOperation[]) => EncodedOperation[]): Sabotage {
  const forgeJob = (job: Job): Job => {
    if (job[0] === "commitAll") return ["commitAll", job[1].map(forge)];
    return job[0] === "commit" ? ["commit", forge(job[1])] : job;
  };
  return { disk: (jobs) => jobs.map(forgeJob) };
}

/** The due time in the values of an outcome. */
const DUE_AT = FINISHED_COLUMNS.indexOf("dueAt");

/** Changes the outcomes of webhooks before they are committed. */
function finishing(forge: (outcome: EncodedOutcome) => EncodedOutcome): Sabotage {
  return {
    disk: (jobs) =>
      jobs.map((job): Job => (job[0] === "finishDeliveries" ? ["finishDeliveries", job[1].map(forge)] : job)),
  };
}

/** Drops operations from transactions before they are committed. */
function without(isLost: (operation: EncodedOperation, all: readonly EncodedOperation[]) => boolean): Sabotage {
  return forging((operations) => operations.filter((operation) => !isLost(operation, operations)));
}

/** Changes the signals that a provider reports. */
function reporting(
  change: (signal: Signal, report: (signal: Signal) => Promise<Applied>) => Promise<Applied>,
): Sabotage {
  return {
    provider: (provider) => ({
      ...provider,
      start: (signals) => provider.start((signal) => change(signal, signals)),
    }),
  };
}

/** The values of a new record with one change. */
function withValue(table: TableName, values: readonly SqlValue[], property: string, value: SqlValue): SqlValue[] {
  const place = LAYOUT[table].findIndex((column) => column.property === property);
  return values.with(place, value);
}

/** Whether an operation inserts a message. */
function makesMessage(step: EncodedOperation): boolean {
  return step[0] === "insert" && step[1] === "messages";
}

/** Whether an operation adds an event of this type. */
function tells(step: EncodedOperation, type: string): boolean {
  return step[0] === "event" && step[1].includes(type);
}

const taken = {
  status: 200,
  durationMs: 5,
  response: "",
  error: null,
  connected: true,
  timedOut: false,
  isPrivate: false,
};

export const WRONGS: readonly Wrong[] = [
  {
    name: "a store that loses an event",
    rule: "every change has one event",
    sabotage() {
      const isTime = nowAndThen(9);
      return without((step) => step[0] === "event" && isTime());
    },
  },
  {
    name: "a store that answers before a message is on disk",
    rule: "accepted messages are kept",
    sabotage() {
      const isTime = nowAndThen(6);
      const lost = new Set<readonly EncodedOperation[]>();
      return without((step, transaction) => {
        if (makesMessage(step) && isTime()) lost.add(transaction);
        return lost.has(transaction);
      });
    },
  },
  {
    name: "a store that keeps no idempotency keys",
    rule: "one key makes one message",
    sabotage: () => without((step) => step[0] === "insertUnique" && step[1] === "idempotency"),
  },
  {
    name: "a store that forgets what was cancelled",
    rule: "cancelled messages are never sent",
    sabotage: () => without((_, transaction) => transaction.some((step) => tells(step, "message.schedule_cancelled"))),
  },
  {
    name: "a store that makes scheduled messages due at once",
    rule: "nothing is sent before its time",
    sabotage: () =>
      forging((transaction) =>
        transaction.map((step) =>
          step[0] === "insert" && step[1] === "messages"
            ? [step[0], step[1], withValue(step[1], step[2], "dueAt", 0)]
            : step,
        ),
      ),
  },
  {
    name: "a store that forgets callbacks",
    rule: "every event has its deliveries",
    sabotage: () =>
      forging((transaction) => transaction.map((step) => (step[0] === "event" ? [step[0], step[1], null] : step))),
  },
  {
    name: "a store that forgets when a delivery is to be tried again",
    rule: "everything ends",
    sabotage: () => finishing(([lease, id, version, values]) => [lease, id, version, values.with(DUE_AT, null)]),
  },
  {
    name: "a store that breaks",
    rule: "no response is a fault",
    sabotage() {
      const isTime = nowAndThen(12);
      return forging((transaction) => {
        if (transaction.some(makesMessage) && isTime()) throw new Error("the store broke");
        return transaction;
      });
    },
  },
  {
    name: "a provider that sends twice",
    rule: "no send attempt is repeated blindly",
    sabotage() {
      const isTime = nowAndThen(4);
      return {
        provider: (provider) => ({
          ...provider,
          async send(message, abort) {
            if (isTime()) void provider.send(message, abort).catch(() => {});
            return await provider.send(message, abort);
          },
        }),
      };
    },
  },
  {
    name: "a provider that answers every lookup with absent",
    rule: "no send attempt is repeated blindly",
    sabotage: () => ({
      provider: (provider) => ({
        ...provider,
        reconcile: async (message) => {
          await provider.reconcile?.(message).catch(() => {});
          return "absent";
        },
      }),
    }),
  },
  {
    name: "a failover after an unknown outcome",
    rule: "no send attempt is repeated blindly",
    sabotage: () => ({
      provider: (provider) => ({
        ...provider,
        async send(message, abort) {
          const outcome = await provider.send(message, abort);
          const refused = { outcome: "rejected", code: "REFUSED", reason: "the answer got lost" } as const;
          return outcome.outcome === "unknown" && message.channel === "sms" ? refused : outcome;
        },
      }),
    }),
  },
  {
    name: "a provider whose receipts get lost",
    rule: "no receipt is lost",
    sabotage() {
      const isTime = nowAndThen(3);
      return {
        provider: (provider) => ({
          ...provider,
          start: (signals) => provider.start(async (signal) => (isTime() ? "applied" : await signals(signal))),
        }),
      };
    },
  },
  {
    name: "a provider that reports an inbound message twice, with another reference",
    rule: "what people do is reported once",
    sabotage() {
      const isTime = nowAndThen(3);
      return reporting(async (signal, report) => {
        const applied = await report(signal);
        if (signal.kind === "inbound" && isTime()) await report({ ...signal, reference: `${signal.reference} again` });
        return applied;
      });
    },
  },
  {
    name: "a provider that reuses references",
    rule: "what people do is reported once",
    sabotage() {
      let reported = 0;
      return reporting(async (signal, report) => {
        reported += 1;
        return await report(signal.kind === "inbound" ? { ...signal, reference: `again-${reported % 3}` } : signal);
      });
    },
  },
  {
    name: "a store that forgets references of signals",
    rule: "what people do is reported once",
    sabotage: () =>
      without((step) => step[0] === "insertUnique" && (step[1] === "providerReferences" || step[1] === "arrivals")),
  },
  {
    name: "a store that forgets notes about send attempts",
    rule: "no note is lost",
    sabotage: () => without((step) => step[0] === "put" && step[1] === "sendAttempts" && step[2].includes("open")),
  },
  {
    name: "a store that forgets who wrote STOP",
    rule: "nothing is sent after STOP",
    sabotage: () => without((step) => step[0] === "put" && step[1] === "optOuts"),
  },
  {
    name: "a store that forgets that a payment request was paid",
    rule: "payments end once",
    sabotage: () => without((step) => step[0] === "update" && step[1] === "payments"),
  },
  {
    name: "a store that forgets an unsend",
    rule: "nothing follows an unsend",
    sabotage: () =>
      forging((transaction) =>
        transaction.some((step) => tells(step, "message.unsent"))
          ? transaction.filter((step) => step[0] !== "update" || step[1] !== "messages")
          : transaction,
      ),
  },
  {
    name: "a poster that skips a delivery and says that it was taken",
    rule: "recorded attempts were sent",
    sabotage() {
      const isTime = nowAndThen(7);
      return {
        poster: (poster) => ({
          post: async (request) => (isTime() ? taken : await poster.post(request)),
          close: () => poster.close(),
        }),
      };
    },
  },
  {
    name: "a poster that says that a delivery was taken before it is sent",
    rule: "first attempts keep their order",
    sabotage: () => ({
      poster: (poster) => ({
        async post(request) {
          void poster.post(request);
          return taken;
        },
        close: () => poster.close(),
      }),
    }),
  },
  {
    name: "a poster that changes a body",
    rule: "webhooks are signed and complete",
    sabotage() {
      const isTime = nowAndThen(7);
      const spoilt = (body: string | Buffer) => String(body).replace('"channel":', '"channel" :');
      return {
        poster: (poster) => ({
          post: (request) => poster.post(isTime() ? { ...request, body: spoilt(request.body) } : request),
          close: () => poster.close(),
        }),
      };
    },
  },
  {
    name: "a schedule whose first retry comes five seconds early",
    rule: "attempts follow the schedule",
    sabotage: () => ({ config: { TB_WEBHOOK_RETRY_SCHEDULE: "25s,5m,30m,2h,8h,24h,24h" } }),
  },
  {
    name: "a schedule that ends one retry early",
    rule: "attempts follow the schedule",
    sabotage: () => ({ config: { TB_WEBHOOK_RETRY_SCHEDULE: "30s,5m,30m,2h,8h,24h" } }),
  },
];
