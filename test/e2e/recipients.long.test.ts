/** The recipients of the sandbox: the phones of the table in `docs/sandbox.md` behave as it says. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import type { AnyEvent } from "../../sdk/wire.ts";
import { startTestService } from "../support/service.ts";
import { until } from "../support/wait.ts";

const SANDBOX = readFileSync(new URL("../../docs/sandbox.md", import.meta.url), "utf8");

test("every recipient of the table in docs/sandbox.md does what the table says", async (t) => {
  const service = await startTestService({}, { inThreads: true });
  t.after(() => service.stop());
  const rows = [...SANDBOX.matchAll(/^\| `(\+1500555\d{4})` \|.*\| ([^|]*) \|$/gm)];
  const documented = new Map(rows.map(([, to = "", events = ""]) => [to, events]));
  /** The courses that the table has for a recipient: the usual one, and another behind "; with" or "; or". */
  const coursesOf = (to: string) =>
    (documented.get(to) ?? "")
      .split(/; (?:with|or) /)
      .map((course) => (course.split(";")[0] ?? "").match(/\b(sent|delivered|read|fallback|failed)\b/g)?.join());
  assert.equal(documented.size, 18);
  // Replies and payments of contacts have tests of their own: here only the message's own events counts.
  const own = ["queued", "sent", "delivered", "read", "fallback", "failed"];
  const courses = [...documented.keys()].filter((to) => !documented.get(to)?.startsWith("payment."));
  await Promise.all(
    courses.map(async (to) => {
      const accepted = await service.ask("POST", "/v1/messages", { body: { to, content: { text: "Hello" } } });
      const { id } = accepted.data;
      const typesOf = async () => {
        const { data } = await service.ask("GET", `/v1/events?messageId=${id}`);
        const types = (data.events as AnyEvent[]).map(({ type }) => type.slice("message.".length)).reverse();
        return types.filter((type) => own.includes(type));
      };
      const isAsDocumented = async () => coursesOf(to).includes((await typesOf()).slice(1).join());
      await until(isAsDocumented, { what: `${to}: ${documented.get(to)}` });
    }),
  );
});
