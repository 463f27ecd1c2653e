/**
 * Every filter of every list that the API documents, and what serves it: an index that ends in the order of the list, or
 * windows of the list's own index. `docs/performance.md` has the same table.
 */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { type TestContext, test } from "node:test";
import { hashKey } from "../../server/core/key.ts";
import { prepareThread } from "../../server/engine/chats/threads.ts";
import { openWriter } from "../../server/store/sqlite/connection.ts";
import { makeTables } from "../../server/store/sqlite/make-tables.ts";
import { createReader } from "../../server/store/sqlite/query.ts";
import type { Ports } from "../../server/store/sqlite/store.ts";
import { planOf } from "../support/query-plans.ts";
import { listRoutes, routesOf } from "../support/routes.ts";
import { served } from "../support/served.ts";

/** A list: its index, and for each filter a value and the index that serves it; `window` if rows are checked one by one. */
interface ServedList {
  /** A path with a record that exists; the route's own by default. */
  path?: (made: { chatId: string }) => string;
  index: string;
  filters: Record<string, readonly [value: string, index: string]>;
}

const WINDOW = "window";
const AT = "2026-01-01T00:00:00Z";
const PRIMARY = (table: string) => `sqlite_autoindex_${table}_1`;

const LISTS: Record<string, ServedList> = {
  "GET /v1/messages": {
    index: "messages_list",
    filters: {
      status: ["delivered", WINDOW],
      "status=failed": ["failed", "messages_rare"],
      "status=unsent": ["unsent", "messages_rare"],
      "status=cancelled": ["cancelled", "messages_rare"],
      to: ["+15005550001", "messages_recipient"],
      from: ["+15005550001", WINDOW],
      "from, direction=inbound": ["+15005550001&direction=inbound", "messages_sender"],
      direction: ["inbound", WINDOW],
      externalMessageId: ["order-1", "messages_external"],
      createdAfter: [AT, WINDOW],
      createdBefore: [AT, "messages_list"],
      channel: ["sms", WINDOW],
      chatId: ["CHAT", "messages_chat"],
      q: ["hello", WINDOW],
      updatedAfter: [AT, "events_list"],
    },
  },
  "GET /v1/messages/scheduled": { index: "messages_scheduled", filters: {} },
  "GET /v1/chats": { index: "chats_list", filters: {} },
  "GET /v1/chats/:id/messages": {
    path: ({ chatId }) => `/v1/chats/${chatId}/messages`,
    index: "messages_chat",
    filters: { from: ["+15550000001", "messages_chat"] },
  },
  "GET /v1/contacts": { index: "contacts_list", filters: { search: ["ada", WINDOW], tag: ["vip", WINDOW] } },
  "GET /v1/events": {
    index: "events_list",
    filters: {
      type: ["message.sent", WINDOW],
      messageId: ["msg_1", "events_message"],
    },
  },
  "GET /v1/payments/requests": {
    index: "payments_list",
    filters: { status: ["paid", WINDOW], from: ["2026-01-01", WINDOW], to: ["2026-01-01", WINDOW] },
  },
  "GET /v1/requests": {
    index: "requests_list",
    filters: {
      status: ["4xx", WINDOW],
      method: ["GET", WINDOW],
      path: ["/v1/messages", WINDOW],
      code: ["NOT_FOUND", WINDOW],
      correlationId: ["cor_1", WINDOW],
      messageId: ["msg_1", WINDOW],
      keyId: ["KEY", WINDOW],
      customerId: ["CUSTOMER", "requests_list"],
      since: ["2026-01-01", WINDOW],
      until: ["2026-01-01", WINDOW],
    },
  },
  "GET /v1/facetime/calls": { index: "calls_list", filters: { status: ["missed", WINDOW] } },
  "GET /v1/webhooks/deliveries": {
    index: "deliveries_list",
    filters: {
      status: ["exhausted", WINDOW],
      webhookId: ["wh_1", WINDOW],
      eventId: ["evt_1", "deliveries_list"],
      messageId: ["msg_1", "events_message"],
    },
  },
  "GET /v1/opt-outs": { index: "opt_outs_list", filters: { number: ["+15550000001", "opt_outs_of_number"] } },
  "GET /v1/admin/customers": { index: PRIMARY("customers"), filters: {} },
  "GET /v1/admin/keys": { index: PRIMARY("keys"), filters: {} },
  "GET /v1/admin/instances": { index: PRIMARY("instances"), filters: {} },
  "GET /v1/admin/sessions": { index: PRIMARY("sessions"), filters: {} },
  "GET /v1/admin/held": { index: "messages_unknown", filters: {} },
};
/** Parameters that say where a page begins, or that open a stream. */
const PLACES = ["limit", "cursor", "offset", "after", "events"];

test("the table has every list that the API documents, and every filter", async () => {
  const documented: Record<string, string[]> = {};
  for (const route of await listRoutes()) {
    const properties = Object.keys((route.query as { properties?: object } | null)?.properties ?? {});
    if (route.method !== "GET" || !properties.includes("limit")) continue;
    documented[`GET ${route.path}`] = properties.filter((name) => !PLACES.includes(name)).sort();
  }
  const listed = Object.entries(LISTS).map(([name, { filters }]) => {
    const names = Object.keys(filters).filter((filter) => !/[=,]/.test(filter));
    return [name, names.sort()];
  });
  assert.deepEqual(Object.fromEntries(listed.sort()), Object.fromEntries(Object.entries(documented).sort()));
});

test("every filter of a list is served by its index or by windows, and by a reader of lists", async (t) => {
  const asked: string[] = [];
  const api = await servedLists(t, asked);
  const database = openWriter(":memory:");
  t.after(() => database.close());
  makeTables(database);
  // It adds the functions of the searches.
  createReader(database);
  for (const [name, { path, index, filters }] of Object.entries(LISTS)) {
    const route = path?.(api) ?? name.slice("GET ".length);
    const key = route.startsWith("/v1/admin") ? api.adminKey : api.key;
    for (const [filter, [value, by]] of [["", ["", index]] as const, ...Object.entries(filters)]) {
      const [parameter] = filter.split(/[=,]/);
      const given = value
        .replace("CHAT", api.chatId)
        .replace("KEY", api.apiKey.id)
        .replace("CUSTOMER", api.customer.id);
      const query = filter === "" ? "" : `?${parameter}=${given.replaceAll("+", "%2B")}`;
      asked.length = 0;
      await api.data(200, "GET", `${route}${query}`, { key });
      const plans = asked.map((statement) => planOf(database, statement));
      const steps = plans.flat();
      const wanted = new RegExp(`^(SEARCH|SCAN) \\w+ USING (COVERING )?INDEX ${by === WINDOW ? index : by}\\b`);
      assert.ok(
        steps.some((step) => wanted.test(step)),
        `${name} ${filter}: ${by}\n${asked.join("\n")}\n${steps.join("\n")}`,
      );
      assert.deepEqual(
        steps.filter((step) => step.startsWith("USE TEMP B-TREE")),
        [],
        `${name} ${filter}`,
      );
      if (by === WINDOW)
        assert.ok(
          asked.some((statement) => / as place from /.test(statement)),
          `${name} ${filter}`,
        );
    }
  }
});

test("docs/performance.md has the table", () => {
  const text = readFileSync(new URL("../../docs/performance.md", import.meta.url), "utf8");
  for (const [name, { index, filters }] of Object.entries(LISTS)) {
    for (const [filter, by] of [["", index], ...Object.entries(filters).map(([one, [, of]]) => [one, of])]) {
      const row =
        filter === "" ? `| \`${name}\` | | \`${by}\` |` : `| | \`${filter}\` | ${by === WINDOW ? by : `\`${by}\``} |`;
      assert.ok(text.includes(row), row);
    }
  }
});

/** All routes, a chat with a message, an admin key, and the statements that lists ask. */
async function servedLists(t: TestContext, asked: string[]) {
  const through = (ports: Ports): Ports => ({
    ...ports,
    lists: ports.lists.map((read) => async (query) => {
      asked.push(query.sql);
      return read(query);
    }),
  });
  const api = await served(t, routesOf, { through });
  const { deps, apiKey, customer, number, instance } = api;
  const adminKey = `tb_${"d".repeat(32)}`;
  const admin = {
    ...apiKey,
    id: deps.newId("key"),
    customerId: null,
    scope: "admin",
    hash: hashKey(adminKey),
  } as const;
  const pair = { customerId: customer.id, from: number.address, contact: "+15005550001" };
  const { chat, make } = await prepareThread(deps, { ...pair, channel: "sms", instanceId: instance.id });
  await deps.store.commit([{ op: "insert", table: "keys", record: admin }, ...make]);
  return { ...api, chatId: chat.id, adminKey };
}
