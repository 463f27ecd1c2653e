/** BlueBubbles under the provider conformance suite: over both ways of ingest, against a fake Mac in simulated time. */

import { providerConformance } from "../../../test/conformance/provider.ts";
import type { Peer } from "../../../test/conformance/provider-peer.ts";
import { SimulatedClock } from "../../../test/support/clock.ts";
import { startHookRelay } from "../../../test/support/hook-relay.ts";
import type { ChatRow } from "../../../test/support/mac/chat-db.ts";
import { type Mac, startMac } from "../../../test/support/mac/mac.ts";
import { outboundMessage } from "../../../test/support/outbound.ts";
import type { Provider } from "../provider.ts";
import { createBluebubbles } from "./bluebubbles.ts";

const NUMBER = "+1555010";
const CONTACT = `${NUMBER}0007`;
const PARTLY = `${NUMBER}0011`;
const OTHERS = [`${NUMBER}0008`, `${NUMBER}0009`];
/** Maximum step of simulated time, so that network traffic is not late by more. */
const STEP_MS = 5_000;

for (const ingest of ["webhook", "socket"] as const) {
  providerConformance(`BlueBubbles by ${ingest}`, async () => {
    const clock = new SimulatedClock();
    const { from } = outboundMessage({ messageId: "msg_own", to: "" });
    const mac = await startMac({ clock, ownAddress: from, facetimeCalling: true, linksFilesAfterMs: 350 });
    let latest: Provider | null = null;
    const relay = await startHookRelay("inst_conformance", () => latest);
    prepare(mac);
    return {
      clock,
      advanceUntil: (condition, limitMs) => advanceUntil(mac, clock, condition, limitMs),
      create: (context) => {
        const config = { url: mac.url, password: mac.password, ingest };
        latest = createBluebubbles({ ...context, config, hookUrl: () => relay.url });
        return latest;
      },
      taken: ({ text }) => mac.sent.filter((sent) => sent.text === text && sent.reaction === null).length,
      scenarios: {
        delivers: { to: `${NUMBER}0001`, channel: "imessage", receipts: ["delivered"] },
        jumbles: { to: `${NUMBER}0002`, channel: "imessage", receipts: ["read"] },
        slow: { to: `${NUMBER}0003`, channel: "imessage", receipts: ["delivered"] },
        rejects: { to: `${NUMBER}0004`, channel: "imessage" },
        notReachable: { to: `${NUMBER}0005`, channel: "imessage" },
        defers: {
          skip: "a Mac that can send nothing to one can send nothing to anybody: see what is put off while it is gone",
        },
        answers: {
          to: CONTACT,
          channel: "imessage",
          receipts: ["delivered"],
          answers: ["typing", "typing", "inbound"],
          fleeting: ["typing"],
        },
        losesAnswer: { to: `${NUMBER}0006`, channel: "imessage", receipts: ["delivered"] },
        partly: {
          to: PARTLY,
          channel: "imessage",
          mends: () => void mac.phone(PARTLY).faults.delete("fileErrorAtOnce"),
        },
        early: { to: `${NUMBER}0010`, channel: "imessage", receipts: ["delivered"] },
      },
      knowsRepeats: { skip: "a Mac sends again what it is given again" },
      strayReceipt: async () => void mac.writesByHand(`${NUMBER}0001`, "Written at the Mac"),
      peer: peerOf(mac),
      repeatsReceipts: true,
      quietMs: 30_000,
      // After an hour BlueBubbles reports a change as a new message.
      lateMs: 7_200_000,
      stop: async () => {
        await mac.stop();
        await relay.stop();
      },
    };
  });
}

/** Phones of the scenarios. Threads with them exist already: new conversations have tests of their own. */
function prepare(mac: Mac): void {
  const phone = (last: string, habit: "nothing" | "delivers") => {
    mac.knows(`${NUMBER}${last}`);
    const one = mac.phone(`${NUMBER}${last}`);
    one.habit = habit;
    return one;
  };
  phone("0001", "delivers");
  const jumbled = phone("0002", "nothing");
  jumbled.afterwards = ({ guid }) => {
    for (const act of ["reads", "reads", "delivers", "delivers"] as const) jumbled[act](guid);
  };
  phone("0003", "delivers").takesAfterMs = 5_000;
  Object.assign(phone("0004", "nothing"), { isOnIMessage: false, refusesAtOnce: true, error: 4 });
  Object.assign(phone("0005", "nothing"), { isOnIMessage: false, refusesAtOnce: true });
  phone("0006", "delivers").faults.add("answerLost");
  // No thread with it is there: the text begins one, and the file follows.
  Object.assign(mac.phone(PARTLY), { habit: "delivers", error: 25 }).faults.add("fileErrorAtOnce");
  const early = phone("0010", "delivers");
  early.habitMs = 0;
  early.faults.add("answerLate");
  const contact = phone("0007", "delivers");
  contact.afterwards = ({ text }) => {
    contact.types(true);
    contact.types(false);
    mac.clock.after(1_000, () => void contact.writes(`You said: ${text}`));
  };
}

function peerOf(mac: Mac): Peer {
  const contact = mac.phone(CONTACT);
  let group: ChatRow | null = null;
  const theGroup = () => {
    group ??= contact.makesGroup("Friends", OTHERS);
    return group;
  };
  let written = "";
  return {
    contact: CONTACT,
    writes: async (text, files) => {
      const attachments = files.map(({ filename: name, mimeType, bytes }) => ({ name, mimeType, bytes }));
      written = contact.writes(text, { attachments });
    },
    writesFrom: async (address, text) => void mac.phone(address).writes(text),
    lastRecipient: () => mac.sent.at(-1)?.to[0],
    longTexts: true,
    files: true,
    insists: true,
    repeats: async () => mac.repeats(),
    keeps: true,
    reacts: async (reference, reaction) => void contact.reacts(reference, reaction),
    types: async (typing) => contact.types(typing),
    pays: async (amountCents) => void contact.pays(amountCents),
    rings: {
      act: async () => contact.hangsUp(contact.rings()),
      // Messages did not accept it.
      statuses: ["incoming", "missed"],
    },
    revises: async (text) => (text === null ? contact.unsends(written) : contact.edits(written, text)),
    group: {
      others: OTHERS,
      writes: async (text) => void contact.writes(text, { group: theGroup() }),
      renames: async (title) => contact.renames(theGroup(), title),
      adds: async (address) => contact.adds(theGroup(), address),
    },
    confirms: async ({ to }, reference, receipt) => {
      const phone = mac.phone(to);
      if (receipt === "read") phone.reads(reference);
      else phone.delivers(reference);
    },
    tellsUnknownAgain: true,
    goes: () => {
      const lift = mac.fault("unreachable");
      return async () => {
        lift();
        await mac.ready();
      };
    },
    hangs: () => {
      const lift = mac.fault("asleep");
      return () => {
        mac.forgetHeld();
        lift();
      };
    },
    refuses: () => mac.fault("helperGone"),
  };
}

/** Advances from timer to timer, and lets pending network traffic arrive before each. */
async function advanceUntil(
  mac: Mac,
  clock: SimulatedClock,
  condition: () => boolean,
  limitMs: number,
): Promise<boolean> {
  const until = clock.real() + limitMs;
  for (;;) {
    await mac.idle();
    if (condition()) return true;
    const left = until - clock.real();
    if (left <= 0) return false;
    const next = (clock.nextAt ?? Number.POSITIVE_INFINITY) - clock.real();
    await clock.advance(Math.min(left, Math.max(next, 0), STEP_MS));
  }
}
