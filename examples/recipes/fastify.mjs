/** Webhooks in Fastify: the raw body, verified, then handled once. */

import { verifyWebhook, WebhookVerificationError } from "@tightbeam/sdk";
import fastify from "fastify";

export const app = fastify();
const seen = new Set();

app.register(async (webhooks) => {
  // Only within this plugin: JSON stays bytes, because what was parsed cannot be verified.
  webhooks.removeContentTypeParser("application/json");
  webhooks.addContentTypeParser("application/json", { parseAs: "buffer" }, (_request, body, done) => done(null, body));
  webhooks.post("/webhooks/tightbeam", async (request, reply) => {
    try {
      const secret = process.env.TIGHTBEAM_WEBHOOK_SECRET ?? "";
      const event = await verifyWebhook({ body: request.body, headers: request.headers, secret });
      // A delivery may come twice: in a real service this set is a table with a unique key.
      if (!seen.has(event.id)) {
        seen.add(event.id);
        console.log(event.type, event.data);
      }
      return { received: true };
    } catch (error) {
      if (!(error instanceof WebhookVerificationError)) throw error;
      return reply.code(400).send(error.message);
    }
  });
});
