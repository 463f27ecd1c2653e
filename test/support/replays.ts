/** Replays as tests begin them, and what their pages have made. */

import type { Delivery, Replay, StartedReplay } from "../../sdk/wire.ts";
import type { Delivery as Row } from "../../server/core/delivery.ts";
import { ReplayPages } from "../../server/engine/webhooks/replay-pages.ts";
import { commitAll } from "./context.ts";
import type { Ask, Served } from "./served.ts";
import { eventOf } from "./webhooks.ts";

/** Before every event. */
export const SINCE = "2020-01-01T00:00:00Z";
/** The path of the replay of an endpoint. */
export const pathOf = (id: string) => `/v1/webhooks/${id}/replay`;

/** Begins a replay. */
export function begin(api: Served, id: string, ask: Ask = {}): Promise<StartedReplay> {
  return api.data<StartedReplay>(202, "POST", pathOf(id), { ...ask, body: { since: SINCE, ...(ask.body as object) } });
}

/** The last replay of an endpoint. */
export const last = (api: Served, id: string) => api.data<Replay | null>(200, "GET", pathOf(id));

/** Makes pages as long as there are some to make at once, as the service's leader does. */
export async function makePages(api: Served, pages = new ReplayPages(api.deps)): Promise<void> {
  while (await pages.run());
}

/** Commits events of an endpoint's type that it gets no delivery of, since it is paused meanwhile. */
export async function missed(api: Served, id: string, count: number): Promise<string[]> {
  await api.data(200, "PATCH", `/v1/webhooks/${id}`, { body: { active: false } });
  const events = Array.from({ length: count }, () => eventOf(api));
  for (let from = 0; from < count; from += 500)
    await commitAll(
      api.deps,
      events.slice(from, from + 500).map((event) => ({ op: "event", event, callbackUrl: null })),
    );
  await api.data(200, "PATCH", `/v1/webhooks/${id}`, { body: { active: true } });
  return events.map((event) => event.id);
}

/** All deliveries, by id. */
export const rowsOf = (api: Served) => api.deps.store.db.selectFrom("deliveries").selectAll().orderBy("id").execute();

/** How many deliveries there are. */
export async function countRows({ deps }: Served): Promise<number> {
  const query = deps.store.db.selectFrom("deliveries").select(({ fn }) => fn.countAll().as("count"));
  return Number((await query.executeTakeFirstOrThrow()).count);
}

/** Sets properties of a delivery, as its attempts would have. */
export async function change(api: Served, { id }: Pick<Delivery, "id">, set: Partial<Row>): Promise<void> {
  const query = api.deps.store.db
    .selectFrom("deliveries")
    .select("version")
    .where("id", "=", id as never);
  const row = await query.executeTakeFirst();
  await commitAll(api.deps, [{ op: "update", table: "deliveries", id, version: Number(row?.version), set }]);
}

/** Every due delivery had an attempt that failed: it is due in half a minute. */
export async function tryAll(api: Served): Promise<void> {
  const now = api.clock.now();
  const query = api.deps.store.db.selectFrom("deliveries").select(["id", "version"]).where("due_at", "<=", now);
  const due = await query.execute();
  for (let from = 0; from < due.length; from += 500)
    await commitAll(
      api.deps,
      due.slice(from, from + 500).map(({ id, version }) => {
        const set = { dueAt: now + 30_000, retryCount: 1, attemptCount: 1 };
        return { op: "update", table: "deliveries", id, version, set };
      }),
    );
}
