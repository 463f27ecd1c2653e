/** How SQLite goes about every read there is: by an index, in its order, and never through a whole table. */

import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { before, test } from "node:test";
import { planOf, slowSteps } from "../../test/support/query-plans.ts";
import { READS, statementsOf } from "../../test/support/store-reads.ts";
import { openWriter } from "./sqlite/connection.ts";
import { makeTables } from "./sqlite/make-tables.ts";

/** Steps of a plan that are not of the usual kind, and why they may be. */
const EXCEPTIONS: Record<string, { step: RegExp; why: string }> = {
  "erasures.listOpenErasures": {
    step: /^SCAN erasures USING INDEX erasures_open$/,
    why: "the index has those alone, in this order, and `limit` of them are read",
  },
  "chats.findThreadByContact": { step: /^USE TEMP B-TREE FOR ORDER BY$/, why: "the threads with one contact" },
  "contacts.findDialogueInstance": { step: /^USE TEMP B-TREE FOR ORDER BY$/, why: "the threads with one contact" },
  "chats.listSendersTo": {
    step: /^(SCAN m$|USE TEMP B-TREE)/,
    why: "of 20 messages and 100 threads that inner queries answer",
  },
  "customers.findRoutedNumbers": {
    step: /^(SCAN customers|USE TEMP B-TREE FOR ORDER BY)$/,
    why: "kept until an admin changes something; one short row a customer, and the numbers of those that route there",
  },
  "customers.findCustomerRouting": { step: /^SCAN customers$/, why: "when an admin deletes an instance; short rows" },
  "customers.hasSeveralCustomers": { step: /^SCAN customers USING COVERING INDEX/, why: "it reads two rows" },
  "replays.tallyReplay": { step: /^SCAN page$/, why: "a page has at most 5,000 rows" },
  "instances.hasRealInstance": { step: /^SCAN instances$/, why: "an operator makes each by hand" },
  "customers.listCustomers": {
    step: /^SCAN customers USING INDEX sqlite_autoindex_customers_1$/,
    why: "in the order of its index and without a filter: it reads `limit` rows",
  },
  "instances.findInstances": {
    step: /^SCAN instances USING INDEX sqlite_autoindex_instances_1$/,
    why: "all of them are asked for, and an operator makes each by hand",
  },
  "inboxes.listInboxes": {
    step: /^SCAN endpoints USING INDEX endpoints_inbox$/,
    why: "all of them are asked for, once at start and once where the sandbox is left",
  },
  "numbers.findNumbers": {
    step: /^USE TEMP B-TREE/,
    why: "the numbers of one customer, which an operator assigns by hand",
  },
  "numbers.findNumbersOn": {
    step: /^(SCAN|USE TEMP)/,
    why: "numbers are assigned by hand; asked for a change of an instance",
  },
  "webhooks.findGoneEndpoints": {
    step: /^SCAN endpoints USING INDEX endpoints_gone$/,
    why: "the index has those alone, in this order, and `limit` of them are read",
  },
  "webhooks.listWebhooks": { step: /^USE TEMP B-TREE/, why: "a customer has at most 100 endpoints" },
  "sessions.listSessions": {
    step: /^SCAN sessions USING INDEX sqlite_autoindex_sessions_1$/,
    why: "in the order of its index; links and ended sessions among them are removed within a minute",
  },
  "quarantine.countQuarantined": {
    step: /^SCAN tables$/,
    why: "a step for each table that has rows in quarantine",
  },
  "quarantine.listQuarantined": {
    step: /^SCAN quarantined$/,
    why: "in the order of its index and without a filter: it reads `limit` rows",
  },
  "requests.countRequests": {
    step: /^SCAN requests USING COVERING INDEX requests_list$/,
    why: "once a minute; the log has 50,000 requests, and the index is small",
  },
  "requests.groupErrors": {
    step: /^(SCAN requests USING INDEX requests_errors|USE TEMP B-TREE FOR GROUP BY)$/,
    why: "the index has errors alone, and a statement groups 5,000 of them",
  },
  "usage.sumUsage": { step: /^USE TEMP B-TREE FOR GROUP BY$/, why: "of the hours of one period" },
};

let database: DatabaseSync;
before(async () => {
  database = openWriter(":memory:");
  makeTables(database);
});

test("no read scans a whole table or sorts its rows, except those listed here with the reason", async () => {
  const bad: string[] = [];
  const used = new Set<string>();
  for (const [name, ask] of Object.entries(READS)) {
    for (const statement of await statementsOf(database, ask)) {
      for (const step of slowSteps(database, statement)) {
        if (EXCEPTIONS[name]?.step.test(step)) used.add(name);
        else bad.push(`${name}: ${step}\n  ${statement}`);
      }
    }
  }
  assert.deepEqual(bad, []);
  assert.deepEqual(Object.keys(EXCEPTIONS).toSorted(), [...used].toSorted(), "an exception that nothing needs goes");
});

test("every window of a list is a range of the index with the list's order, with any filters", async () => {
  const lists = ["calls.listCalls", "contacts.contactList", "events.pageOfEvents", "payments.listPayments"];
  lists.push("message-lists.listMessages", "message-lists.listMessagesOfChat", "message-lists.listOldest");
  for (const name of lists) {
    const statements = [...(await statementsOf(database, READS[name] ?? assert.fail(name)))];
    assert.ok(statements.length >= 3, `${name}: its window, its count and its page`);
    for (const statement of statements) {
      const [step = ""] = planOf(database, statement);
      // The row number of the message that a cursor names, and back: one row each.
      if (/\blimit 1$/.test(statement)) {
        assert.match(step, /^SEARCH messages USING (COVERING INDEX sqlite_autoindex_messages_1|INTEGER PRIMARY KEY)/);
        continue;
      }
      const isRange = /"(id|position|rowid)" [<>]/.test(statement);
      const plan = isRange
        ? /^SEARCH \w+ USING (COVERING )?INDEX \w+ \(((\w+|<expr>)=\? AND )+(id|rowid|position)[<>]\?( AND (id|rowid|position)[<>]\?)?\)$/
        : /^SEARCH \w+ USING (COVERING )?INDEX \w+ \(((\w+|<expr>)=\?( AND )?)+\)$/;
      assert.match(step, plan, `${name}: ${statement}`);
    }
  }
});

test("every read of the store has a line in this test", async () => {
  const names: string[] = [];
  for (const file of readdirSync(import.meta.dirname)) {
    if (!file.endsWith(".ts") || /^(schema|rows|records|store|windows)\.ts$|\.test\.ts$/.test(file)) continue;
    const module: Record<string, unknown> = await import(`./${file}`);
    for (const [name, value] of Object.entries(module)) {
      // These decode rows that others have read.
      if (/^(decode|fill|report)/.test(name)) continue;
      if (typeof value === "function" && /^\s*(async )?function \w+\(\s*db\b/.test(value.toString())) {
        names.push(`${file.slice(0, -3)}.${name}`);
      }
    }
  }
  assert.deepEqual(names.toSorted(), Object.keys(READS).toSorted(), "a new read needs a line in READS");
});
