/** Operations on API keys. */

import { CreateKey, clearKeyExample, Key, KeyList, keyExample, RotateKey } from "../keys.ts";
import { linksTo, operation, type Section } from "../operation.ts";
import { at, IDS, LAST_PAGE } from "../samples.ts";
import { PageQuery } from "../values.ts";

export const keys: Section = {
  tag: "Keys",
  description: "API keys. The service keeps only a hash and the last four characters of a key. Takes an admin key.",
  parameters: { id: { description: "Id of the key, not the key itself.", example: IDS.key } },
  operations: {
    "POST /v1/admin/keys": operation({
      id: "createKey",
      summary: "Create a key",
      description:
        "Creates a key for a customer, or with the scope `admin` an admin key. `permissions` narrow a customer's key: `read` allows every GET, `webhooks` everything under `/v1/webhooks`, `send` every other change. `key` is returned once, in this response.",
      status: 201,
      body: CreateKey,
      response: Key,
      example: { ...keyExample, key: clearKeyExample },
      errors: ["NOT_FOUND"],
      bodyExample: { name: "Booking system", customerId: IDS.customer },
      links: linksTo("revokeKey", "rotateKey"),
    }),
    "GET /v1/admin/keys": operation({
      id: "listKeys",
      summary: "List keys",
      description: "Lists keys newest first, revoked keys too, without the keys themselves.",
      query: PageQuery,
      response: KeyList,
      example: { keys: [keyExample], pagination: LAST_PAGE },
    }),
    "DELETE /v1/admin/keys/:id": operation({
      id: "revokeKey",
      summary: "Revoke a key",
      description: "Takes effect within a second in every process, and closes the key's event streams.",
      response: Key,
      example: { ...keyExample, revokedAt: at(90) },
    }),
    "POST /v1/admin/keys/:id/rotate": operation({
      id: "rotateKey",
      summary: "Rotate a key",
      description:
        "Creates a key for the same customer, scope and rate limit; the old key works until the grace period ends.",
      status: 201,
      body: RotateKey,
      response: Key,
      example: { ...keyExample, key: clearKeyExample },
      errors: ["INVALID_STATUS"],
      bodyExample: { gracePeriodSeconds: 86_400 },
      links: linksTo("revokeKey"),
    }),
  },
};
