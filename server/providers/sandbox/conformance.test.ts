/** The sandbox under the provider conformance suite, in simulated time. */

import { providerConformance } from "../../../test/conformance/provider.ts";
import { SimulatedClock } from "../../../test/support/clock.ts";
import { owedKey } from "./owed.ts";
import { createSandbox } from "./sandbox.ts";

const NUMBER = "+1500555";

providerConformance("the sandbox", async (disk) => {
  const clock = new SimulatedClock();
  return {
    clock,
    advanceUntil: (condition, limitMs) => clock.advanceUntil(condition, limitMs),
    create: createSandbox,
    taken: ({ messageId, channel }) => disk.created(owedKey(messageId, channel)),
    scenarios: {
      delivers: { to: `${NUMBER}0100`, channel: "imessage", receipts: ["delivered"] },
      jumbles: { to: `${NUMBER}0108`, channel: "imessage", receipts: ["read", "read", "delivered", "delivered"] },
      slow: { to: `${NUMBER}0109`, channel: "sms", receipts: ["delivered"] },
      rejects: { to: `${NUMBER}0104`, channel: "sms" },
      notReachable: { to: `${NUMBER}0102`, channel: "imessage" },
      defers: { to: `${NUMBER}0106`, channel: "imessage", times: 2, receipts: ["delivered"] },
      answers: {
        to: `${NUMBER}0110`,
        channel: "imessage",
        receipts: ["delivered"],
        answers: ["typing", "typing", "inbound"],
      },
      losesAnswer: { to: `${NUMBER}0107`, channel: "imessage", receipts: ["delivered"] },
    },
    knowsRepeats: true,
    strayReceipt: { skip: "the sandbox is its own peer: no receipt comes from elsewhere" },
    quietMs: 30_000,
    stop: async () => {},
  };
});
