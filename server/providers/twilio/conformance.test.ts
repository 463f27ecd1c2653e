/** Twilio in the provider conformance suite, against the small Twilio on loopback, in simulated time. */

import { providerConformance } from "../../../test/conformance/provider.ts";
import type { Peer, PeerFile } from "../../../test/conformance/provider-peer.ts";
import { SimulatedClock } from "../../../test/support/clock.ts";
import { startHookRelay } from "../../../test/support/hook-relay.ts";
import { outboundMessage } from "../../../test/support/outbound.ts";
import { FakeTwilio } from "../../../test/support/twilio/fake-twilio.ts";
import { advanceUntil } from "../../../test/support/twilio/simulated.ts";
import type { Provider } from "../provider.ts";
import { createTwilio } from "./twilio.ts";

const NUMBER = "+1555010";
const CONTACT = `${NUMBER}0007`;

providerConformance("Twilio", async () => {
  const clock = new SimulatedClock();
  const fake = await new FakeTwilio().start();
  fake.clock = clock;
  fake.callRetries = 3;
  const { behaviours } = fake;
  behaviours.set(`${NUMBER}0001`, { statuses: ["sending", "delivered"] });
  behaviours.set(`${NUMBER}0002`, { statuses: ["read", "read", "delivered", "delivered"] });
  behaviours.set(`${NUMBER}0003`, { slowMs: 400, statuses: ["delivered"] });
  behaviours.set(`${NUMBER}0004`, { refuse: { status: 400, body: { code: 21408, message: "no" } } });
  behaviours.set(`${NUMBER}0005`, { refuse: { status: 400, body: { code: 21614, message: "no" } } });
  behaviours.set(`${NUMBER}0006`, { answer: "lost", statuses: ["delivered"] });
  behaviours.set(`${NUMBER}0008`, { statuses: ["delivered"], refuse: { status: 400, times: 2, body: BUSY } });
  let latest: Provider | null = null;
  const relay = await startHookRelay("inst_conformance", () => latest);
  const skip = "Twilio takes no key of ours: it sends again what it is given again";
  return {
    clock,
    advanceUntil: (condition, limitMs) => advanceUntil(fake, clock, condition, limitMs),
    create: (context) => {
      latest = asked(createTwilio({ ...context, config: fake.config, hookUrl: () => relay.url }), clock);
      return latest;
    },
    taken: ({ to, text }) => fake.taken({ to, body: text }).length,
    scenarios: {
      delivers: { to: `${NUMBER}0001`, channel: "sms", receipts: ["delivered"] },
      jumbles: { to: `${NUMBER}0002`, channel: "sms", receipts: ["read"] },
      slow: { to: `${NUMBER}0003`, channel: "sms", receipts: ["delivered"] },
      rejects: { to: `${NUMBER}0004`, channel: "sms" },
      notReachable: { to: `${NUMBER}0005`, channel: "sms" },
      defers: { to: `${NUMBER}0008`, channel: "sms", times: 2, receipts: ["delivered"] },
      answers: { skip: "a contact's answer is a webhook of its own, which Twilio tells whoever runs" },
      losesAnswer: { to: `${NUMBER}0006`, channel: "sms", receipts: ["delivered"] },
      partly: { skip: "text and files go by one request" },
      early: { to: `${NUMBER}0009`, channel: "sms", receipts: ["sent", "delivered"] },
    },
    knowsRepeats: { skip },
    strayReceipt: { skip: "a callback's address names our message; one of nobody's is in the tests of the service" },
    peer: peerOf(fake, () => relay.url),
    repeatsReceipts: true,
    quietMs: 20_000,
    stop: async () => {
      await relay.stop();
      await fake.stop();
    },
  };
});

/** Provably not sent, without any effect on the instance's status. */
const BUSY = { code: 30001, message: "Queue overflow" };

/** Reconciles again, as the engine does, while the outcome is unknown. */
function asked(provider: Provider, clock: SimulatedClock): Provider {
  const ask = provider.reconcile?.bind(provider);
  if (ask === undefined) return provider;
  provider.reconcile = async (message) => {
    for (;;) {
      const answer = await ask(message);
      if (answer === "absent" || answer.outcome !== "unknown") return answer;
      await new Promise<void>((resolve) => void clock.after(15_000, resolve));
    }
  };
  return provider;
}

function peerOf(fake: FakeTwilio, hookUrl: () => string): Peer {
  const own = outboundMessage({ messageId: "msg_own", to: "" }).from;
  const write = async (text: string | null, files: readonly PeerFile[]) => {
    const media = files.map(({ bytes, mimeType }, index) => {
      fake.files.set(`ME${index}`, Buffer.from(bytes));
      return {
        url: `${fake.url}/2010-04-01/Accounts/${fake.accountSid}/Messages/MM1/Media/ME${index}`,
        type: mimeType,
      };
    });
    await fake.write(hookUrl(), { from: CONTACT, to: own, body: text ?? "", media });
  };
  const noSuchThing = { skip: "SMS has no such thing" };
  return {
    contact: CONTACT,
    writes: write,
    writesFrom: async (from, body) => void (await fake.write(hookUrl(), { from, to: own, body, media: [] })),
    lastRecipient: () => fake.messages.at(-1)?.to,
    longTexts: true,
    files: true,
    insists: true,
    repeats: async () => {
      const last = fake.called.findLast(({ parameters }) => parameters.SmsStatus === "received");
      if (last !== undefined) await fake.call(last.url, last.parameters);
    },
    // Not by the hook, which Twilio calls a few times within 15 s, but by the backfill.
    keeps: true,
    reacts: noSuchThing,
    types: noSuchThing,
    pays: noSuchThing,
    rings: noSuchThing,
    revises: noSuchThing,
    group: noSuchThing,
    confirms: async ({ messageId, attemptedAt }, reference, receipt) => {
      const message = fake.messages.find(({ sid }) => sid === reference);
      if (message === undefined) throw new Error("there is no such message");
      message.status = receipt === "failed" ? "undelivered" : receipt;
      await fake.call(`${hookUrl()}/status/${messageId}/${attemptedAt}`, fake.callback(message));
    },
    tellsUnknownAgain: { skip: "a callback names our own id: a message that is not known then never will be" },
    goes: () => {
      const gone = fake.shut();
      return async () => {
        await gone;
        await fake.open();
      };
    },
    hangs: { skip: "its only command fetches a file: that one is given up is tested beside it" },
    refuses: { skip: "its only command fetches a file: what is refused is tested beside it" },
  };
}
