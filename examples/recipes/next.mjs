/** Webhooks in Next.js, as `app/webhooks/tightbeam/route.js`: the raw body, verified, then handled once. */

import { verifyWebhook, WebhookVerificationError } from "@tightbeam/sdk";

const seen = new Set();

export async function POST(request) {
  try {
    const secret = process.env.TIGHTBEAM_WEBHOOK_SECRET ?? "";
    // text(), not json(): what was parsed cannot be verified.
    const event = await verifyWebhook({ body: await request.text(), headers: request.headers, secret });
    // A delivery may come twice: in a real service this set is a table with a unique key.
    if (!seen.has(event.id)) {
      seen.add(event.id);
      console.log(event.type, event.data);
    }
    return Response.json({ received: true });
  } catch (error) {
    if (!(error instanceof WebhookVerificationError)) throw error;
    return new Response(error.message, { status: 400 });
  }
}
