/** What all operations have in common, in the words that stand at the head of the reference. */

export const INTRODUCTION = `Send iMessages, with SMS where a phone has none, and hear what becomes of them by signed webhooks.

**Keys.** Send \`Authorization: Bearer tb_…\` with every request under \`/v1\`. A key of a customer sees that customer's data only; another customer's id is a 404. An admin key is for \`/v1/admin\` and nothing else.

**Envelope.** A success is \`{"success":true,"data":…,"requestId":"…"}\`, a refusal \`{"success":false,"error":{"code":"…","message":"…","details":[…]},"requestId":"…"}\`. Decide by \`code\`; \`details\` names every bad field at once. Unknown fields and parameters are refused by name.

**Idempotency.** Every POST takes \`Idempotency-Key\`, or \`idempotencyKey\` in the body. The same request with the same key answers the first record with 200, for 30 days; another request with it is a 409 \`IDEMPOTENCY_KEY_REUSED\`; a refusal does not use it up.

**Pages.** Lists take \`limit\` (1 to 100, 50 unless given) and \`cursor\`, and answer \`data.pagination\` with \`hasMore\` and \`nextCursor\`: newest first, stable while records are added. Contacts page by \`offset\`; numbers and endpoints come in one plain list.

**Rate limit.** Per key, 100 requests in 60 s unless configured otherwise: \`X-RateLimit-Limit\`, \`X-RateLimit-Remaining\`, \`X-RateLimit-Reset\`; beyond it 429 \`RATE_LIMITED\` with \`Retry-After\`.

**Values.** Times are ISO 8601 in UTC with milliseconds. Ids are opaque, carry a prefix and sort by creation. Records carry every field, null where there is no value; events leave out what does not apply. Expect new fields.

**Addresses.** Phone numbers are in E.164 form, \`+15005550100\`; in a query a leading space counts as \`+\`. iMessage e-mail addresses do as well.`;
