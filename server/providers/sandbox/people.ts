/** People who use the sandbox's phones. On request they write, type, react, keep audio messages, pay and call. */

import type { PhoneSettings } from "../../../sdk/wire.ts";
import type { InboundAttachment } from "../../core/attachment.ts";
import type { CustomerId } from "../../core/id.ts";
import { keywordOf } from "../../core/opt-out.ts";
import { SerialQueue } from "../../core/serial-queue.ts";
import type { Phone, Phones } from "../phones.ts";
import type { ProviderContext, Signal } from "../provider.ts";
import type { SandboxCalls } from "./calls.ts";
import type { LateFiles } from "./late-files.ts";
import type { SandboxSettings } from "./settings.ts";
import { inboundOf, paymentOf, photoOf, reactionOf, typingOf } from "./signals.ts";

/** Parts of the sandbox that people use. */
interface PeopleDeps {
  settings: SandboxSettings;
  calls: SandboxCalls;
  lateFiles: LateFiles;
  /** Reports a signal; resolves when the service has it on disk. */
  report(signal: Signal): Promise<void>;
  optOutWordsAt: ProviderContext["optOutWordsAt"];
  /** Resolves after some milliseconds, or as soon as the sandbox stops. */
  pause(ms: number): Promise<void>;
  /** A phone's settings changed: it may be online now. */
  changed(customerId: CustomerId, number: string): void;
  /** Drops the pending signals of a customer. */
  drop(customerId: CustomerId): Promise<void>;
}

/** Reference of what the caller names `name`: stable, and different from all other references of the sandbox. */
function referenceOf(name: string): string {
  return `sbx_by_${name}`;
}

/** The longest that a message waits for its files, as at a Mac. */
const FILES_WITHIN_MS = 10_000;

type Written = Parameters<Phones["write"]>[2];

/** Runs the report of a message after those of the same conversation before it. */
type Turn = (report: () => Promise<void>) => Promise<void>;

/** Creates the people of a sandbox. */
export function createPeople({ settings, calls, lateFiles, report, changed, drop, ...deps }: PeopleDeps): Phones {
  const chats = new SerialQueue();

  /**
   * Writes a message whose files come `afterMs` later, in `turn`. It waits `waitMs` for them, from now and not from its turn; if they
   * come later than that, it is reported a second time.
   */
  async function writeAhead(
    phone: Phone,
    reference: string,
    message: Written,
    { waitMs, afterMs, turn }: { waitMs: number; afterMs: number; turn: Turn },
  ): Promise<void> {
    const attachments = message.attachments.map((file, index) => ({ ...file, reference: `${reference}_${index}` }));
    const whole = { ...inboundOf(phone, reference, { ...message, attachments }), grows: true as const };
    const kept = lateFiles.keep(phone.customerId, attachments);
    const leftMs = afterMs - waitMs;
    try {
      const waited = waitMs === 0 ? null : deps.pause(waitMs);
      await turn(async () => {
        await waited;
        kept.requireKept();
        await report(leftMs <= 0 ? whole : { ...whole, attachments: attachments.map(missing) });
      });
    } catch (error) {
      kept.drop();
      throw error;
    }
    if (leftMs <= 0) kept.drop();
    else kept.reportAfter(leftMs, () => report(whole));
  }

  return {
    async write(phone, name, message) {
      const reference = referenceOf(name);
      const words = await deps.optOutWordsAt(phone.to);
      const isUrgent = message.group === null && keywordOf(message.text, words) !== null;
      const afterMs = message.attachments.length === 0 ? 0 : (message.attachmentsAfterMs ?? 0);
      const waitMs = isUrgent ? 0 : Math.min(afterMs, FILES_WITHIN_MS);
      const turn: Turn = isUrgent ? (write) => write() : (write) => chats.run(chatOf(phone, message), write);
      if (afterMs > 0) await writeAhead(phone, reference, message, { waitMs, afterMs, turn });
      else await turn(() => report(inboundOf(phone, reference, message)));
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
      const call = await calls.act(phone, referenceOf(name), { action, isVideo });
      return call === null ? null : { callUuid: call.callUuid };
    },
    settings: (customerId, number) => settings.of(customerId, number),
    async change(customerId, number, wanted: Partial<PhoneSettings>) {
      const changedTo = await settings.change(customerId, number, wanted);
      changed(customerId, number);
      return changedTo;
    },
    async reset(customerId) {
      lateFiles.reset(customerId);
      await Promise.all([settings.reset(customerId), calls.reset(customerId), drop(customerId)]);
    },
  };
}

/** The conversation that a message is written to: later texts in it wait for this one's files. */
function chatOf({ customerId, number, to }: Phone, { group }: Written): string {
  return group === null ? `${customerId} ${number} ${to}` : group.reference;
}

function missing({ reference, mimeType, filename }: InboundAttachment): InboundAttachment {
  return { reference, mimeType, filename, totalBytes: null, data: null, missing: true };
}
