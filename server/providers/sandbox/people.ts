/** People who use the sandbox's phones. On request they write, type, react, keep audio messages, pay and call. */

import type { PhoneSettings } from "../../../sdk/wire.ts";
import type { CustomerId } from "../../core/id.ts";
import type { Phones } from "../phones.ts";
import type { Signal } from "../provider.ts";
import type { SandboxCalls } from "./calls.ts";
import type { SandboxSettings } from "./settings.ts";
import { callOf, inboundOf, paymentOf, photoOf, reactionOf, typingOf } from "./signals.ts";

/** Parts of the sandbox that people use. */
interface PeopleDeps {
  settings: SandboxSettings;
  calls: SandboxCalls;
  /** Reports a signal; resolves when the service has it on disk. */
  report(signal: Signal): Promise<void>;
  /** A phone's settings changed: it may be online now. */
  changed(customerId: CustomerId, number: string): void;
  /** Drops the pending signals of a customer. */
  drop(customerId: CustomerId): Promise<void>;
}

/** Reference of what the caller names `name`: stable, and different from all other references of the sandbox. */
function referenceOf(name: string): string {
  return `sbx_by_${name}`;
}

/** Creates the people of a sandbox. */
export function createPeople({ settings, calls, report, changed, drop }: PeopleDeps): Phones {
  return {
    async write(phone, name, message) {
      const reference = referenceOf(name);
      await report(inboundOf(phone, reference, message));
      return { reference };
    },
    type: (phone, typing) => report(typingOf(phone, typing)),
    react: (phone, name, target, reaction) => report(reactionOf(phone, referenceOf(name), target, reaction)),
    keepAudio: ({ to }, reference) => report({ kind: "audioKept", to, channel: "imessage", reference }),
    changePhoto: (phone, name, group) => report(photoOf(phone, referenceOf(name), group)),
    async pay(phone, name, amountCents) {
      const reference = referenceOf(name);
      await report(paymentOf(phone, reference, amountCents));
      return { reference };
    },
    async call(phone, name, action, isVideo) {
      const call = await calls.act(phone, referenceOf(name), { action, isVideo }, (after, forget) =>
        report({ ...callOf(phone, after.callUuid, after), ...(forget === null ? {} : { forget }) }),
      );
      return call === null ? null : { callUuid: call.callUuid };
    },
    settings: (customerId, number) => settings.of(customerId, number),
    async change(customerId, number, wanted: Partial<PhoneSettings>) {
      const changedTo = await settings.change(customerId, number, wanted);
      changed(customerId, number);
      return changedTo;
    },
    async reset(customerId) {
      await Promise.all([settings.reset(customerId), calls.reset(customerId), drop(customerId)]);
    },
  };
}
