/** Instances that come and go while numbers are put on them, and routes name them. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { openContext } from "../../../test/support/sending.ts";
import { findInstance } from "../../store/instances.ts";
import { findNumbers } from "../../store/numbers.ts";
import { addNumber } from "../customers/numbers.ts";
import { findRoutes, setRoutes } from "../routing/set-routes.ts";
import { createInstance, deleteInstance } from "./instances.ts";
import { memoryOf } from "./memory.ts";

test("an instance is not deleted if a number is added to it at the same moment", async (t) => {
  const { deps, customer } = await openContext(t);
  for (const first of ["remove", "add"]) {
    const body = { name: "Second", provider: "sandbox", config: {} } as const;
    const { instance } = await createInstance(deps, { idempotencyKey: null, body });
    const phoneNumber = first === "add" ? "+15005550002" : "+15005550003";
    const added = { phoneNumber, provider: "sandbox", instanceId: instance.id } as const;
    const add = () => addNumber(deps, customer.id, { idempotencyKey: null, body: added });
    const remove = () => deleteInstance(deps, instance.id);
    await Promise.allSettled(first === "add" ? [add(), remove()] : [remove(), add()]);
    const numbers = await findNumbers(deps.store.db, customer.id);
    const hasNumber = numbers.some(({ instanceId }) => instanceId === instance.id);
    assert.equal((await findInstance(deps.store.db, instance.id)) !== null, hasNumber, `${first} first`);
    assert.equal(hasNumber, first === "add");
  }
});

test("an instance is not deleted if a route names it at the same moment", async (t) => {
  const { deps, customer } = await openContext(t);
  for (const first of ["remove", "name"]) {
    const body = { name: "Second", provider: "sandbox", config: {} } as const;
    const { instance } = await createInstance(deps, { idempotencyKey: null, body });
    const routes = [{ prefix: "+", instanceId: instance.id }];
    const name = () => setRoutes(deps, customer.id, routes);
    const remove = () => deleteInstance(deps, instance.id);
    await Promise.allSettled(first === "name" ? [name(), remove()] : [remove(), name()]);
    const isNamed = (await findRoutes(deps, customer.id)).length > 0;
    assert.equal((await findInstance(deps.store.db, instance.id)) !== null, isNamed, `${first} first`);
    assert.equal(isNamed, first === "name");
  }
});

test("a deleted instance keeps no stored state, not even an entry that its provider wrote while it stopped", async (t) => {
  const { deps } = await openContext(t);
  const body = { name: "Second", provider: "sandbox", config: {} } as const;
  const { instance } = await createInstance(deps, { idempotencyKey: null, body });
  const memory = memoryOf(deps.store, instance.id);
  const provider = deps.providers.get(instance.id);
  assert.ok(provider !== undefined);
  provider.stop = () => memory.put("late", "word");
  await deleteInstance(deps, instance.id);
  assert.deepEqual(await memory.list(""), []);
});
