/** Webhooks in Express: verified, then handled once by the type of the event. */

import { expressWebhookHandler } from "@tightbeam/sdk";
import express from "express";

export const app = express();
const seen = new Set();

const handlers = {
  "message.inbound": (event) => {
    // A delivery may come twice: in a real service this set is a table with a unique key.
    if (seen.has(event.id)) return;
    seen.add(event.id);
    console.log(event.data.from, event.data.text);
  },
};

// The handler reads the raw body itself: no express.json() before it, because a parsed body cannot be verified.
app.post(
  "/webhooks/tightbeam",
  expressWebhookHandler(handlers, { secret: process.env.TIGHTBEAM_WEBHOOK_SECRET ?? "" }),
);
