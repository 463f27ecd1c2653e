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
    title: "iMessage goes by no route",
    origin: { routes: ROUTES },
    to: "+15550100001",
    channel: "imessage",
    instances: ["inst_mac"],
  },
  {
    title: "a number whose provider has no iMessage has none",
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
    title: "without routes and without SMS of its own there is none",
    origin: {},
    to: "+15550100001",
    channel: "sms",
    instances: [],
  },
  {
    title: "the longest prefix wins, wherever it stands",
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
    title: "+ stands for every number",
    origin: { routes: ROUTES },
    to: "+4930100001",
    channel: "sms",
    instances: ["inst_world"],
  },
  {
    title: "a route wins over SMS of its own",
    origin: { channels: ["imessage", "sms"], routes: ROUTES },
    to: "+4420100001",
    channel: "sms",
    instances: ["inst_uk"],
  },
  {
    title: "where no route matches, SMS of its own is left",
    origin: { channels: ["imessage", "sms"], routes: ROUTES.slice(1) },
    to: "+4930100001",
    channel: "sms",
    instances: ["inst_mac"],
  },
  {
    title: "where none matches and it has none of its own, there is none",
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

test("of any routes, those with one prefix that matches are taken, all of them, and none longer is left out", () => {
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
  ["the first that is up", [], ["inst_a", "inst_b"], "Carrier A (route +1)"],
  ["the next one where the first is down", [], ["inst_b"], "Carrier B (route +1, as Carrier A is down)"],
  [
    "the first where none is up, to wait for it",
    [],
    [],
    "Carrier A (route +1), which is down: the message waits for it",
  ],
  ["none that refused it", ["inst_a"], ["inst_a", "inst_b"], "Carrier B (route +1)"],
  [
    "one that is down rather than one that refused it",
    ["inst_a"],
    ["inst_a"],
    "Carrier B (route +1), which is down: the message waits for it",
  ],
  ["nobody where all refused it", ["inst_a", "inst_b"], ["inst_a", "inst_b"], null],
];

for (const [title, tried, up, way] of CHOICES) {
  test(`chosen is ${title}, and it is said why`, () => {
    const chosen = choose(PAIR, tried, (id) => up.includes(id));
    assert.equal(chosen === null ? null : wayOf(chosen).way, way);
  });
}
