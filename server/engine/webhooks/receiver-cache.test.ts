/** The receivers of attempts: a change drops what it changed, also while it is being read, and nothing else. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { testContext } from "../../../test/support/context.ts";
import { URL_A, URL_B } from "../../../test/support/webhooks.ts";
import type { Delivery } from "../../core/delivery.ts";
import type { Store } from "../../store/store.ts";
import { setWebhook } from "./configure.ts";
import { ReceiverCache } from "./receiver-cache.ts";

/** A context with an endpoint, and a store that calls `during` at each read. */
async function stage(during: (cache: ReceiverCache) => void) {
  const made = await testContext();
  const { endpoint } = await setWebhook(made.deps, made.customer.id, { url: URL_A, events: ["*"] });
  const cache = new ReceiverCache();
  const reading: Pick<Store, "db"> = {
    get db() {
      during(cache);
      return made.deps.store.db;
    },
  };
  return { ...made, cache, endpoint, reading };
}

test("an endpoint is cached although others change whenever it is read", async () => {
  const other = { table: "endpoints", id: "wh_other" } as const;
  const { cache, endpoint, reading, customer, close } = await stage((cached) => {
    queueMicrotask(() => cached.changed([other]));
  });
  const found = await cache.findReceiver(reading, endpoint.id, customer.id);
  assert.deepEqual([found.endpoint, found.signer?.id], [endpoint, customer.id]);
  await close();
});

test("an endpoint that changes while it is read is not cached as it was", async () => {
  const { cache, endpoint, reading, close } = await stage((cached) => {
    queueMicrotask(() => cached.changed([{ table: "endpoints", id: endpoint.id }]));
  });
  await cache.load(reading, [endpoint.id]);
  assert.equal(cache.ownerOf(endpoint.id), null);
  await close();
});

test("a cache that may lack what another process changed reads the receiver of each attempt", async () => {
  const { deps, customer, close } = await testContext();
  const { endpoint } = await setWebhook(deps, customer.id, { url: URL_A, events: ["*"] });
  let isCurrent = true;
  const cache = new ReceiverCache(() => isCurrent);
  const delivery = { lane: endpoint.id, customerId: customer.id, endpointId: endpoint.id } as Delivery;
  const urlOf = async () => {
    const found = (await cache.findCurrent(deps.store, delivery)).endpoint;
    assert.ok(found !== null && found !== "unreadable");
    return found.url;
  };
  assert.equal(await urlOf(), URL_A);
  await setWebhook(deps, customer.id, { url: URL_B, events: ["*"] });
  assert.equal(await urlOf(), URL_A, "this cache was not told of it");
  isCurrent = false;
  assert.deepEqual(await Promise.all([urlOf(), urlOf()]), [URL_B, URL_B]);
  await close();
});
