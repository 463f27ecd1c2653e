/** Webhooks in Express: the raw body, verified, then handled once. */

import { verifyWebhook, WebhookVerificationError } from "@tightbeam/sdk";
import express from "express";

export const app = express();
const seen = new Set();

// express.json() would parse the body, and what was parsed cannot be verified: this route takes the bytes.
app.post("/webhooks/tightbeam", express.raw({ type: "application/json", limit: "1mb" }), async (request, response) => {
  try {
    const secret = process.env.TIGHTBEAM_WEBHOOK_SECRET ?? "";
    const event = await verifyWebhook({ body: request.body, headers: request.headers, secret });
    // A delivery may come twice: in a real service this set is a table with a unique key.
    if (!seen.has(event.id)) {
      seen.add(event.id);
      console.log(event.type, event.data);
    }
    response.sendStatus(200);
  } catch (error) {
    if (!(error instanceof WebhookVerificationError)) throw error;
    response.status(400).send(error.message);
  }
});
