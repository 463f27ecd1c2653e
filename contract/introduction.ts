/** Text at the start of the reference: what all operations have in common. */

export const INTRODUCTION = `Send iMessages with SMS fallback, and receive every status change by signed webhooks.

**Keys.** Send \`Authorization: Bearer tb_…\` with every request under \`/v1\`. A customer's key sees only that customer's data; another customer's id is a 404. An admin key opens \`/v1/admin\` and nothing else.

**Envelope.** A success is \`{"success":true,"data":…,"requestId":"…"}\`, an error \`{"success":false,"error":{"code":"…","message":"…","details":[…]},"requestId":"…"}\`. Decide by \`code\`; \`details\` lists every invalid field at once. Unknown fields and parameters are refused by name.

**Idempotency.** Every POST takes \`Idempotency-Key\`, or \`idempotencyKey\` in the body. For 30 days, the same request with the same key returns the first record with 200; another request with that key is a 409 \`IDEMPOTENCY_KEY_REUSED\`. An error does not use the key up.

**Pages.** Lists take \`limit\` (1 to 100, default 50) and \`cursor\`, and return \`data.pagination\` with \`hasMore\` and \`nextCursor\`: newest first, stable while records are added. Contacts use \`offset\`; numbers and endpoints are returned in one plain list.

**Rate limit.** Per key, by default 100 requests in 60 s: \`X-RateLimit-Limit\`, \`X-RateLimit-Remaining\`, \`X-RateLimit-Reset\`. Above the limit the response is 429 \`RATE_LIMITED\` with \`Retry-After\`.

**Values.** Times are ISO 8601 in UTC with milliseconds. Ids are opaque, have a prefix and sort by creation. Records have every field, null without a value; events omit fields that do not apply. Expect new fields.

**Addresses.** Phone numbers are in E.164 form, \`+15005550100\`; in a query a leading space counts as \`+\`. iMessage e-mail addresses are accepted too.`;
