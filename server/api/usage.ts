/** The route of usage: of a key, a customer or all, by the day or the hour. */

import type { Static } from "typebox";
import { UsageQuery } from "../../contract/usage.ts";
import type { ErrorDetail, Usage, UsageCounts } from "../../sdk/wire.ts";
import { ApiError, invalidField } from "../core/error.ts";
import type { CustomerId, KeyId } from "../core/id.ts";
import { BOUND_EXPECTED, FIRST_INSTANT, parseBound } from "../core/instant.ts";
import type { ApiKey } from "../core/key.ts";
import { noUsage, USAGE_FIELDS } from "../core/usage.ts";
import type { UsageCounters } from "../engine/customers/usage.ts";
import type { Deps } from "../engine/deps.ts";
import { findCustomer } from "../store/customers.ts";
import { findKey } from "../store/keys.ts";
import { sumUsage, type UsageOf } from "../store/usage.ts";
import { listReader } from "./list-reader.ts";
import { type Caller, type Route, route } from "./route.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;
const STEP_MS = { hour: HOUR_MS, day: DAY_MS } as const;

/** Points in a response without `from`: 30 days, or 7 days by the hour. */
const POINTS = { hour: 168, day: 30 } as const;
/** Most points of one response. */
const POINTS_MAX = 400;

type UsageFilter = Static<typeof UsageQuery>;

/** `GET /v1/admin/usage`. Counts that `counters` still holds in memory are written first, so that they are included. */
export function usageRoutes(deps: Deps, counters: Pick<UsageCounters, "flush">): Route[] {
  return [
    route({
      method: "GET",
      path: "/v1/admin/usage",
      scope: "any",
      query: UsageQuery,
      async handle(request) {
        const { caller, query } = request;
        const period = periodOf(query, deps.clock.now());
        const { key, whose } = await subjectOf(deps, caller, query);
        await counters.flush();
        const { fromAt, toAt } = period;
        const stepMs = STEP_MS[query.granularity];
        const sums = await sumUsage(listReader(deps, request), whose, { fromAt: floor(fromAt, HOUR_MS), toAt, stepMs });
        const series = pointsOf(period, stepMs).map((at) => ({ at, counts: sums.get(at) ?? noUsage() }));
        const data: Usage = {
          key: key === null ? null : { id: key.id, name: key.name },
          period: { from: new Date(fromAt).toISOString(), to: new Date(toAt).toISOString() },
          totals: total(series.map(({ counts }) => counts)),
          series: series.map(({ at, counts }) => ({ at: new Date(at).toISOString(), ...counts })),
        };
        return { data };
      },
    }),
  ];
}

/** `toAt` is exclusive. */
interface Period {
  fromAt: number;
  toAt: number;
}

/** The period. A date is a day in UTC: `from` means its start, `to` its end. */
function periodOf({ from, to, granularity }: UsageFilter, now: number): Period {
  const problems: ErrorDetail[] = [];
  const read = (path: "from" | "to", text: string | undefined): number | null => {
    if (text === undefined) return null;
    const at = parseBound(text, path);
    if (at === null) problems.push({ path, message: BOUND_EXPECTED });
    return at;
  };
  const stepMs = STEP_MS[granularity];
  const givenFrom = read("from", from);
  // Without `to`, the present moment is included.
  const toAt = read("to", to) ?? now + 1;
  const lastPointsFrom = floor(toAt - 1, stepMs) - (POINTS[granularity] - 1) * stepMs;
  const fromAt = givenFrom ?? Math.max(lastPointsFrom, FIRST_INSTANT);
  const [problem] = problems;
  if (problem !== undefined) {
    throw new ApiError("VALIDATION_ERROR", `${problem.path} ${problem.message}`, { details: problems });
  }
  if (fromAt >= toAt) throw invalidField("from", `must be before ${to === undefined ? "now" : "to"}`);
  const points = Math.ceil((toAt - floor(fromAt, stepMs)) / stepMs);
  if (points > POINTS_MAX) {
    throw invalidField("from", `asks for ${points} points by the ${granularity}; the most is ${POINTS_MAX}`);
  }
  return { fromAt, toAt };
}

function floor(at: number, stepMs: number): number {
  return Math.floor(at / stepMs) * stepMs;
}

/** Every step of the period, also without usage. */
function pointsOf({ fromAt, toAt }: Period, stepMs: number): number[] {
  const points: number[] = [];
  for (let at = floor(fromAt, stepMs); at < toAt; at += stepMs) points.push(at);
  return points;
}

function total(all: readonly UsageCounts[]): UsageCounts {
  const sum = noUsage();
  for (const counts of all) {
    for (const field of USAGE_FIELDS) sum[field] += counts[field];
  }
  return sum;
}

interface UsageSubject {
  /** The single key of the query. */
  key: ApiKey | null;
  whose: UsageOf;
}

async function subjectOf(deps: Deps, { key, customerId }: Caller, query: UsageFilter): Promise<UsageSubject> {
  if (customerId !== null) return ownUsage(key, customerId, query);
  const { db } = deps.store;
  if (query.keyId !== undefined && query.customerId !== undefined) {
    throw invalidField("customerId", "cannot be used together with keyId");
  }
  if (query.keyId !== undefined) {
    const found = await findKey(db, query.keyId as KeyId);
    if (found === null) throw noKey(query.keyId);
    return usageOfKey(found);
  }
  if (query.customerId !== undefined) {
    const customer = await findCustomer(db, query.customerId as CustomerId);
    if (customer === null) throw new ApiError("NOT_FOUND", `There is no customer ${query.customerId}.`);
    return { key: null, whose: { of: "customer", customerId: customer.id } };
  }
  return { key: null, whose: { of: "all" } };
}

/** The usage of a customer's own key. Other keys and customers do not exist for it. */
function ownUsage(key: ApiKey, customerId: CustomerId, query: UsageFilter): UsageSubject {
  if (query.keyId !== undefined && query.keyId !== key.id) throw noKey(query.keyId);
  if (query.customerId === customerId) {
    throw new ApiError("FORBIDDEN", "Only an admin key sees the usage of a whole customer; leave customerId out.");
  }
  if (query.customerId !== undefined) throw new ApiError("NOT_FOUND", `There is no customer ${query.customerId}.`);
  return usageOfKey(key);
}

function usageOfKey(key: ApiKey): UsageSubject {
  return { key, whose: { of: "key", keyId: key.id, customerId: key.customerId } };
}

function noKey(id: string): ApiError {
  return new ApiError("NOT_FOUND", `There is no key ${id}.`);
}
