/** The rules of requests that a schema of one field cannot state: the OpenAPI document forbids what the service refuses. */

import assert from "node:assert/strict";
import test from "node:test";
import { boundShown } from "../contract/values.ts";
import { parseBound } from "../server/core/instant.ts";
import { createValidator, readDocument } from "./support/contract.ts";

const document = readDocument();
const validator = createValidator(document);

test("the document forbids bodies that the service refuses, also for what two fields say together", () => {
  const to = "+15005550101";
  const text = { content: { text: "x" } };
  const smpp = { host: "smpp.example.com", port: 2775, systemId: "a", password: "b", bindMode: "pair" };
  const hop = { prefix: "+44", instanceId: "inst_1" };
  const bodies: [operation: string, allowed: unknown, forbidden: unknown[]][] = [
    [
      "POST /v1/messages",
      { to, chatId: "", ...text },
      [
        { to, chatId: to, ...text },
        { to: "", ...text },
      ],
    ],
    [
      "POST /v1/messages",
      { to, ...text },
      [
        { to, content: { text: "a\0" } },
        { to: "chat_\0", ...text },
      ],
    ],
    [
      "POST /v1/messages",
      { to, attachments: [{ type: "url", url: "https://a.example", mimeType: "Image/JPEG; q=1" }] },
      [
        { to, attachments: [{ type: "url", url: "https://a.example", mimeType: "jpeg" }] },
        { to, attachments: [{ type: "url", url: "https://a.example/\0" }] },
      ],
    ],
    [
      "POST /v1/contacts",
      { phoneNumber: to, email: null },
      [{ phoneNumber: null }, { email: null, phoneNumber: null }],
    ],
    ["POST /v1/sandbox/phones/{number}/payments", { amount: 0.01 }, [{ amount: 0 }, { amount: 1_000_000 }]],
    [
      "POST /v1/admin/customers/{id}/numbers",
      { email: "a@b.example", provider: "bluebubbles" },
      [{ email: "a@b.example", provider: "smpp" }],
    ],
    ["PUT /v1/admin/customers/{id}/routes", [hop, { ...hop, prefix: "+" }], [[hop, hop]]],
    [
      "POST /v1/admin/instances",
      { name: "a", provider: "smpp", config: smpp },
      [
        { name: "a", provider: "sandbox", config: smpp },
        { name: "a", provider: "smpp", config: {} },
      ],
    ],
    ["POST /v1/admin/keys", { name: "a", scope: "admin" }, [{ name: "a", scope: "admin", permissions: ["read"] }]],
    ["PATCH /v1/admin/instances/{id}", { config: { port: 1 } }, [{ config: { "a\0": 1 } }]],
  ];
  for (const [name, allowed, forbidden] of bodies) {
    const [method = "", template = ""] = name.split(" ");
    const pointer = `/paths/${encodeURI(template.replaceAll("/", "~1"))}/${method.toLowerCase()}/requestBody/content/application~1json/schema`;
    validator.assertValid(pointer, allowed, name);
    for (const body of forbidden) {
      assert.throws(() => validator.assertValid(pointer, body, name), assert.AssertionError, JSON.stringify(body));
    }
  }
  for (const choice of ["release", "discard"]) {
    assert.equal(document.paths[`/v1/admin/held/${choice}`]?.post?.requestBody?.required, true);
  }
});

test("the document's pattern of a date or instant accepts exactly the days that exist", () => {
  const dates = [2000, 1900, 2024, 2023, 2400, 2100].flatMap((year) =>
    Array.from({ length: 12 }, (_, month) => String(month + 1).padStart(2, "0")).flatMap((month) =>
      ["00", "01", "28", "29", "30", "31", "32"].map((day) => `${year}-${month}-${day}`),
    ),
  );
  for (const text of [...dates, "2026-13-01", "2026-00-01", "2026-1-01"].flatMap((date) => [date, `${date}T09:30Z`])) {
    assert.equal(new RegExp(boundShown.pattern, "u").test(text), parseBound(text, "from") !== null, text);
  }
});
