/** `/llms.txt`: the service in plain text for language models that write code against it. Pure. */

/** The guide, with commands that work against the service at `baseUrl`. */
export function renderGuide(baseUrl: string): string {
  return `# Tightbeam

> A self-hosted messaging service: iMessage with SMS fallback behind one REST API, and signed webhooks that never get lost. This one is at ${baseUrl}.

Everything under /v1 is JSON over HTTP. The complete reference: ${baseUrl}/openapi.json (OpenAPI 3.1, all events under "webhooks"), as pages with every guide: ${baseUrl}/docs (each also as Markdown, such as ${baseUrl}/docs/guides/sending.md), in one text: ${baseUrl}/llms-full.txt.

## Keys

Send \`Authorization: Bearer <key>\` with every request; a key is \`tb_\` and 32 or more letters and digits. Customers' keys are for everything but /v1/admin; admin keys are for /v1/admin only. Keep keys on the server: never in a browser or an app.

## Responses

- Success: \`{"success":true,"data":…,"requestId":"…"}\`
- Error: \`{"success":false,"error":{"code":"UPPER_CASE","message":"…","details":[{"path":"…","message":"…"}]},"requestId":"…"}\`. Decide by \`code\`. \`details\` names every bad field at once.
- Unknown fields and query parameters are refused with 400 \`VALIDATION_ERROR\`: do not invent any.
- Lists: \`?limit=1..100&cursor=…\`, the response has \`data.pagination.hasMore\` and \`data.pagination.nextCursor\`.
- 429 \`RATE_LIMITED\` and 503 \`SERVICE_UNAVAILABLE\` come with \`Retry-After\` in seconds: wait, then retry.
- Give every POST that must not be executed twice an \`Idempotency-Key\` header, and retry with the same key: the response is then 200 with the first record.
- Phone numbers are E.164 (\`+15005550100\`). Times are ISO 8601 in UTC.

## The ten most important requests

Send a message. 202 means that the message is on disk; events report its outcome:

    curl ${baseUrl}/v1/messages -H "Authorization: Bearer $TIGHTBEAM_API_KEY" -H "Content-Type: application/json" \\
      -H "Idempotency-Key: order-1001" \\
      -d '{"to":"+15005550101","content":{"text":"Your table is ready."}}'

Get its status (\`data.status\`: scheduled, queued, pending, sent, delivered, read, failed, cancelled, unsent; an inbound message is received):

    curl ${baseUrl}/v1/messages/$MESSAGE_ID -H "Authorization: Bearer $TIGHTBEAM_API_KEY"

Schedule a message with a field of the same request: \`"scheduledAt":"2030-01-31T09:00:00Z"\` (at most 30 days ahead). Cancel it:

    curl -X DELETE ${baseUrl}/v1/messages/$MESSAGE_ID/schedule -H "Authorization: Bearer $TIGHTBEAM_API_KEY"

Set the webhook endpoint. Without \`secret\` the response shows a generated one, only once:

    curl -X PUT ${baseUrl}/v1/webhooks -H "Authorization: Bearer $TIGHTBEAM_API_KEY" -H "Content-Type: application/json" \\
      -d '{"url":"https://example.com/hooks","events":["message.delivered","message.failed","message.inbound"]}'

See why a webhook did not arrive:

    curl "${baseUrl}/v1/webhooks/deliveries?status=pending" -H "Authorization: Bearer $TIGHTBEAM_API_KEY"

Follow events without a webhook, live (server-sent events; resumes after the header Last-Event-ID):

    curl -N "${baseUrl}/v1/events?events=*" -H "Authorization: Bearer $TIGHTBEAM_API_KEY"

List a conversation; the contact's address may stand for a one-to-one chat:

    curl ${baseUrl}/v1/chats/+15005550101/messages -H "Authorization: Bearer $TIGHTBEAM_API_KEY"

Show which channels reach a phone:

    curl ${baseUrl}/v1/capabilities/+15005550101 -H "Authorization: Bearer $TIGHTBEAM_API_KEY"

Request a payment:

    curl ${baseUrl}/v1/payments/request -H "Authorization: Bearer $TIGHTBEAM_API_KEY" -H "Content-Type: application/json" \\
      -d '{"to":"+15005550112","amount":"25.00","note":"Deposit"}'

Try a reply without a phone (sandbox only): write as the contact, then wait for the event:

    curl ${baseUrl}/v1/sandbox/phones/+15005550101/messages -H "Authorization: Bearer $TIGHTBEAM_API_KEY" -H "Content-Type: application/json" \\
      -d '{"text":"On my way"}'
    curl "${baseUrl}/v1/sandbox/wait?type=message.inbound&timeoutSeconds=10" -H "Authorization: Bearer $TIGHTBEAM_API_KEY"

## Events

An event is \`{"id":"evt_…","type":"message.delivered","timestamp":"…","data":{…}}\`. Events of messages carry \`messageId\`, \`from\`, \`to\`, \`text\`, \`channel\`, \`status\`, \`sequence\` (order by it) and your \`externalMessageId\` and \`metadata\`. An event may arrive twice: deduplicate by \`id\`. Respond with 2xx within 30 s and do the work afterwards; everything else is retried, seven times over 58 hours. Types: message.queued, .sent, .delivered, .read, .failed, .fallback, .inbound, .scheduled, .schedule_cancelled, .reaction, .edited, .edit_failed, .unsent, .deleted, .audio_kept, .attachments_added; typing.indicator; payment.request.created, .paid, .cancelled, .expired; facetime.incoming, .status_changed; chat.participant.added, .participant.left, .title.changed, .photo.changed; contact.opted_out, .opted_in; webhook.test.

## Verify a webhook

\`X-Signature\` is \`sha256=\` and the lower-case hex HMAC-SHA256 of \`<X-Timestamp>.<raw body>\`; the key is the characters of the secret. Compare in constant time, over the raw body before it is parsed, and refuse timestamps (Unix seconds) that are more than 300 s off. With the client: \`verifyWebhook({ body, headers, secret })\` throws unless it is genuine.

## The sandbox

Until a real provider is connected, the recipient's number decides what happens: +15005550100 is delivered, 0101 also read, 0102 not on iMessage (falls back to SMS), 0105 not reachable (fails), 0110 echoes, 0111 reacts, 0112 pays payment requests, 0114 rings by FaceTime. \`POST /v1/sandbox/clock {"advance":"2h"}\` moves the clock forward; \`POST /v1/sandbox/reset\` starts anew.

## Links

- [OpenAPI 3.1](${baseUrl}/openapi.json)
- [Documentation](${baseUrl}/docs)
- [All of it in one text](${baseUrl}/llms-full.txt)
- The TypeScript client of this version: npm install ${baseUrl}/sdk.tgz
- [Health](${baseUrl}/health)
`;
}
