/** Webhooks in Next.js, as `app/webhooks/tightbeam/route.js`: verified, then handled once by the type of the event. */

import { webhookHandler } from "@tightbeam/sdk";

const seen = new Set();

const handlers = {
  "message.inbound": (event) => {
    // A delivery may come twice: in a real service this set is a table with a unique key.
    if (seen.has(event.id)) return;
    seen.add(event.id);
    console.log(event.data.from, event.data.text);
  },
};

export const POST = webhookHandler(handlers, { secret: process.env.TIGHTBEAM_WEBHOOK_SECRET ?? "" });
