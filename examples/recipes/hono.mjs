/** Webhooks in Hono, on Node, Bun, Deno or a worker: the raw body, verified, then handled once. */

import { verifyWebhook, WebhookVerificationError } from "@tightbeam/sdk";
import { Hono } from "hono";
import { env } from "hono/adapter";

export const app = new Hono();
const seen = new Set();

app.post("/webhooks/tightbeam", async (context) => {
  try {
    const { TIGHTBEAM_WEBHOOK_SECRET: secret = "" } = env(context);
    // text(), not json(): what was parsed cannot be verified.
    const event = await verifyWebhook({ body: await context.req.text(), headers: context.req.raw.headers, secret });
    // A delivery may come twice: in a real service this set is a table with a unique key.
    if (!seen.has(event.id)) {
      seen.add(event.id);
      console.log(event.type, event.data);
    }
    return context.json({ received: true });
  } catch (error) {
    if (!(error instanceof WebhookVerificationError)) throw error;
    return context.text(error.message, 400);
  }
});
