/** Webhooks in Fastify: verified, then handled once by the type of the event. */

import { fastifyWebhookPlugin } from "@tightbeam/sdk";
import fastify from "fastify";

export const app = fastify();
const seen = new Set();

const handlers = {
  "message.inbound": (event) => {
    // A delivery may come twice: in a real service this set is a table with a unique key.
    if (seen.has(event.id)) return;
    seen.add(event.id);
    console.log(event.data.from, event.data.text);
  },
};

const secret = process.env.TIGHTBEAM_WEBHOOK_SECRET ?? "";
app.register(fastifyWebhookPlugin("/webhooks/tightbeam", handlers, { secret }));
