/** Where a message can go: longest prefix first, failover in order, iMessage where the number is, and why in words. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Channel, Route } from "../../sdk/wire.ts";
import type { InstanceId } from "./id.ts";
import { type Candidate, candidatesOf, choose, type Origin, routesTo, wayOf } from "./routing.ts";

const MAC: Origin = { address: "+15550000001", instanceId: "inst_mac", channels: ["imessage"], routes: [] };
const ROUTES: Route[] = [
  { prefix: "+", instanceId: "inst_world" },
  { prefix: "+44", instanceId: "inst_uk" },
  { prefix: "+1", instanceId: "inst_a" },
  { prefix: "+1", instanceId: "inst_b" },
  { prefix: "+1555", instanceId: "inst_555" },
];

interface Row {
  title: string;
  origin: Partial<Origin>;
  to: string;
  channel: Channel;
  instances: string[];
}

const ROWS: Row[] = [
  {
    title: "iMessage goes by the number's own instance",
    origin: {},
    to: "+15550100001",
    channel: "imessage",
    instances: ["inst_mac"],
  },
  {
    title: "iMessage goes to e-mail addresses",
    origin: {},
    to: "a@example.com",
    channel: "imessage",
    instances: ["inst_mac"],
  },
  {
    title: "iMessage goes from e-mail addresses",
    origin: { address: "us@example.com" },
    to: "+15550100001",
    channel: "imessage",
    instances: ["inst_mac"],
  },
  {
    title: "routes do not affect iMessage",
    origin: { routes: ROUTES },
    to: "+15550100001",
    channel: "imessage",
    instances: ["inst_mac"],
  },
  {
    title: "a number whose provider has no iMessage has no iMessage candidate",
    origin: { channels: ["sms"], routes: ROUTES },
    to: "+15550100001",
    channel: "imessage",
    instances: [],
  },
  {
    title: "SMS without routes goes by the number's own instance",
    origin: { channels: ["imessage", "sms"] },
    to: "+15550100001",
    channel: "sms",
    instances: ["inst_mac"],
  },
  {
    title: "a number without routes and without its own SMS has no SMS candidate",
    origin: {},
    to: "+15550100001",
    channel: "sms",
    instances: [],
  },
  {
    title: "the longest prefix wins, at any place in the list",
    origin: { routes: ROUTES },
    to: "+15550100001",
    channel: "sms",
    instances: ["inst_555"],
  },
  {
    title: "routes with the same prefix are candidates in their order",
    origin: { routes: ROUTES },
    to: "+12120100001",
    channel: "sms",
    instances: ["inst_a", "inst_b"],
  },
  {
    title: "the prefix + matches every number",
    origin: { routes: ROUTES },
    to: "+4930100001",
    channel: "sms",
    instances: ["inst_world"],
  },
  {
    title: "a route wins over SMS by the number's own instance",
    origin: { channels: ["imessage", "sms"], routes: ROUTES },
    to: "+4420100001",
    channel: "sms",
    instances: ["inst_uk"],
  },
  {
    title: "if no route matches, SMS goes by the number's own instance",
    origin: { channels: ["imessage", "sms"], routes: ROUTES.slice(1) },
    to: "+4930100001",
    channel: "sms",
    instances: ["inst_mac"],
  },
  {
    title: "if no route matches and the number has no SMS of its own, there is no candidate",
    origin: { routes: ROUTES.slice(1) },
    to: "+4930100001",
    channel: "sms",
    instances: [],
  },
  {
    title: "no SMS goes to an e-mail address",
    origin: { channels: ["sms"], routes: ROUTES },
    to: "a@example.com",
    channel: "sms",
    instances: [],
  },
  {
    title: "no SMS comes from an e-mail address",
    origin: { address: "us@example.com", channels: ["imessage", "sms"], routes: ROUTES },
    to: "+15550100001",
    channel: "sms",
    instances: [],
  },
];

for (const { title, origin, to, channel, instances } of ROWS) {
  test(title, () => {
    const candidates = candidatesOf({ ...MAC, ...origin }, to, channel, (id) => id);
    assert.deepEqual(
      candidates.map(({ instanceId }) => instanceId),
      instances,
    );
  });
}

test("routesTo returns all routes with the longest matching prefix, and no other", () => {
  const prefix = fc.stringMatching(/^\+[0-3]{0,4}$/);
  const instanceId = fc.constantFrom("inst_a", "inst_b", "inst_c");
  fc.assert(
    fc.property(fc.array(fc.record({ prefix, instanceId })), fc.stringMatching(/^\+[1-3][0-3]{5}$/), (routes, to) => {
      const taken = routesTo(routes, to);
      const matching = routes.filter((route) => to.startsWith(route.prefix));
      assert.equal(taken.length > 0, matching.length > 0);
      const [first] = taken;
      assert.deepEqual(
        taken,
        matching.filter((route) => route.prefix === first?.prefix),
      );
      assert.ok(matching.every((route) => route.prefix.length <= (first?.prefix.length ?? 0)));
    }),
  );
});

const PAIR: Candidate[] = [
  { instanceId: "inst_a", name: "Carrier A", because: "route +1" },
  { instanceId: "inst_b", name: "Carrier B", because: "route +1" },
];

const CHOICES: [title: string, tried: InstanceId[], up: InstanceId[], way: string | null][] = [
  ["the first instance that is up", [], ["inst_a", "inst_b"], "Carrier A (route +1)"],
  ["the next instance if the first is down", [], ["inst_b"], "Carrier B (route +1, as Carrier A is down)"],
  [
    "the first instance if none is up, so that the message waits for it",
    [],
    [],
    "Carrier A (route +1), which is down: the message waits for it",
  ],
  ["no instance that refused the message", ["inst_a"], ["inst_a", "inst_b"], "Carrier B (route +1)"],
  [
    "an instance that is down rather than one that refused the message",
    ["inst_a"],
    ["inst_a"],
    "Carrier B (route +1), which is down: the message waits for it",
  ],
  ["no instance if all refused the message", ["inst_a", "inst_b"], ["inst_a", "inst_b"], null],
];

for (const [title, tried, up, way] of CHOICES) {
  test(`choose returns ${title}, and the reason is in its way`, () => {
    const chosen = choose(PAIR, tried, (id) => up.includes(id));
    assert.equal(chosen === null ? null : wayOf(chosen).way, way);
  });
}
