/** A process that cannot compare the configuration with the database sends webhooks as another process has just set them. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { CURRENT_MS_MAX } from "../../server/engine/config-snapshot.ts";
import type { Store } from "../../server/store/store.ts";
import { isSigned, type Receiver, startReceiver } from "../support/receiver.ts";
import { data, startProcesses } from "../support/two-processes.ts";
import { until } from "../support/wait.ts";

test("a webhook goes to the URL and with the secret that another process has set, although the sender's snapshot is old", async (t) => {
  let isHeld = false;
  let heldAt = Number.POSITIVE_INFINITY;
  const holdComparisons = ({ shared }: Store) => {
    assert.ok(shared !== null);
    const { configVersions } = shared;
    shared.configVersions = async () => {
      if (!isHeld) return await configVersions();
      heldAt = Math.min(heldAt, performance.now());
      throw new Error("the comparison is held");
    };
  };
  const { asked, owner, stop } = await startProcesses({ onOwner: holdComparisons }, { TB_WEBHOOK_ALLOW: "loopback" });
  t.after(stop);
  const [former, present] = [await startReceiver(), await startReceiver()];
  t.after(() => Promise.all([former.stop(), present.stop()]));
  const listenAt = ({ url }: Receiver, secret: string) =>
    data(asked, "PUT /v1/webhooks", { body: { url, events: ["*"], secret } });
  const send = async (to: string) => {
    const { id } = await data(asked, "POST /v1/messages", { body: { to, content: { text: "Hi" } } });
    return id as string;
  };
  const isDelivered = (receiver: Receiver, id: string) => receiver.types(id).includes("message.delivered");
  await listenAt(former, "the former one");
  const first = await send("+15005570001");
  await until(() => isDelivered(former, first), { what: "the webhooks at the former URL" });

  isHeld = true;
  await until(() => performance.now() - heldAt > 2 * CURRENT_MS_MAX, { what: "an old snapshot at the sender" });
  await listenAt(present, "the present one");
  const count = former.received.length;
  const second = await send("+15005570002");
  await until(() => isDelivered(present, second), { what: "the webhooks at the present URL" });
  assert.equal(former.received.length, count);
  assert.ok(present.received.every((one) => isSigned(one, "the present one")));
  assert.equal((await owner.ask("GET", "/v1/webhooks")).data.url, present.url);
});
