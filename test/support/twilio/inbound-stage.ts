/** A Twilio provider with numbers in simulated time: contacts' messages, and the signals reported for them. */

import type { TestContext } from "node:test";
import type { InboundSignal, OwnAddress } from "../../../server/providers/provider.ts";
import { SimulatedClock } from "../clock.ts";
import { FROM } from "./sending.ts";
import { advanceUntil, pass } from "./simulated.ts";
import { type TwilioStage, twilioStage } from "./stage.ts";

export const SECOND = 1_000;
export const MINUTE = 60_000;
export const DAY = 86_400_000;

/** A number of the instance. */
export function own(address = FROM, customerId: OwnAddress["customerId"] = "cust_1"): OwnAddress {
  return { address, customerId, isDefault: false };
}

/** A provider with numbers (one by default) after its first round; the test ends it. */
export async function inboundStage(t: TestContext, numbers: readonly OwnAddress[] = [own()]) {
  const clock = new SimulatedClock();
  const stage = await twilioStage(t, { clock, numbers });
  const { fake } = stage;
  await pass(fake, clock, SECOND);
  return {
    stage,
    fake,
    clock,
    later: (ms: number) => pass(fake, clock, ms),
    /** Lets time pass until so many inbound messages were reported, and returns their texts. */
    async untilReported(count: number, limitMs = 10 * MINUTE) {
      await advanceUntil(fake, clock, () => inbounds(stage).length >= count, limitMs);
      return texts(stage);
    },
    /** Something that happens while no process runs. */
    async away(whatHappens: () => unknown) {
      stage.hook.to = null;
      await stage.provider.stop();
      await whatHappens();
      await stage.restart();
    },
  };
}

/** The inbound messages reported so far. */
export function inbounds({ signals }: TwilioStage): InboundSignal[] {
  return signals.filter((signal) => signal.kind === "inbound");
}

export function texts(stage: TwilioStage): (string | null)[] {
  return inbounds(stage).map(({ text }) => text);
}

/** Requests for lists of messages so far. */
export function lists({ fake }: TwilioStage): URLSearchParams[] {
  const asked = fake.asked.filter(({ method, path }) => method === "GET" && path.endsWith("/Messages.json"));
  return asked.map(({ query }) => query);
}

/** The cursors on disk. */
export function marks({ entries }: TwilioStage): [string, string][] {
  return [...entries].filter(([key]) => key.startsWith("inbound/"));
}
