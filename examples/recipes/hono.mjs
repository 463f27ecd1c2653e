/** Webhooks in Hono, on Node, Bun, Deno or a worker: verified, then handled once by the type of the event. */

import { webhookHandler } from "@tightbeam/sdk";
import { Hono } from "hono";
import { env } from "hono/adapter";

export const app = new Hono();
const seen = new Set();

const handlers = {
  "message.inbound": (event) => {
    // A delivery may come twice: in a real service this set is a table with a unique key.
    if (seen.has(event.id)) return;
    seen.add(event.id);
    console.log(event.data.from, event.data.text);
  },
};

app.post("/webhooks/tightbeam", (context) => {
  const { TIGHTBEAM_WEBHOOK_SECRET: secret = "" } = env(context);
  return webhookHandler(handlers, { secret })(context.req.raw);
});
