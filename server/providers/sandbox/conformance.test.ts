/** The sandbox under the provider conformance suite, in simulated time. */

import assert from "node:assert/strict";
import { providerConformance } from "../../../test/conformance/provider.ts";
import type { Peer, PeerFile } from "../../../test/conformance/provider-peer.ts";
import { SimulatedClock } from "../../../test/support/clock.ts";
import { outboundMessage } from "../../../test/support/outbound.ts";
import { parseReaction } from "../../core/reaction.ts";
import type { Phone, Phones } from "../phones.ts";
import type { Provider } from "../provider.ts";
import { createSandbox } from "./sandbox.ts";
import { entryKey } from "./signal-journal.ts";

const NUMBER = "+1500555";
/** Accepts every message, and never responds by itself. */
const CONTACT = `${NUMBER}0199`;

providerConformance("the sandbox", async (disk) => {
  const clock = new SimulatedClock();
  let latest: Provider | null = null;
  return {
    clock,
    advanceUntil: (condition, limitMs) => clock.advanceUntil(condition, limitMs),
    create: (context) => {
      latest = createSandbox(context);
      return latest;
    },
    taken: ({ messageId, channel }) => disk.created(entryKey(messageId, channel)),
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
      partly: { skip: "its phones take all of a message or nothing" },
      early: { skip: "a phone of the sandbox reports no receipt before its response" },
    },
    knowsRepeats: true,
    strayReceipt: { skip: "the sandbox is its own peer: no receipt comes from elsewhere" },
    peer: peerOf(() => latest?.phones ?? null),
    quietMs: 30_000,
    stop: async () => {},
  };
});

/** People of the sandbox: tests make them act through the service. */
function peerOf(phones: () => Phones | null): Peer {
  const { customerId, from: to } = outboundMessage({ messageId: "msg_peer", to: CONTACT });
  const phone: Phone = { customerId, number: CONTACT, to };
  let acts = 0;
  let last: () => Promise<unknown> = async () => {};
  const act = async (doing: (at: Phones, name: string) => Promise<unknown>): Promise<void> => {
    const at = phones();
    if (at === null) throw new Error("there is no sandbox");
    acts += 1;
    const name = `act-${acts}`;
    last = () => doing(at, name);
    await last();
  };
  const itself = "the sandbox is its own peer";
  return {
    contact: CONTACT,
    writes: (text, files) =>
      act((at, name) => at.write(phone, name, { text, attachments: attachmentsOf(files), ...PLAIN })),
    writesFrom: (number, text) =>
      act((at, name) => at.write({ ...phone, number }, name, { text, attachments: [], ...PLAIN })),
    lastRecipient: null,
    longTexts: true,
    files: true,
    insists: { skip: "whoever acts on a phone of the sandbox is told that it failed, and does it again" },
    repeats: async () => void (await last()),
    keeps: { skip: "nobody can act on a phone of the sandbox while it does not run" },
    reacts: (reference, command) => {
      const reaction = parseReaction(command) ?? assert.fail(`${command} is no reaction`);
      return act((at, name) => at.react(phone, name, { reference, text: "Hello" }, reaction));
    },
    types: (typing) => act((at) => at.type(phone, typing)),
    pays: (amountCents) => act((at, name) => at.pay(phone, name, amountCents)),
    rings: {
      act: async () => {
        await act((at, name) => at.call(phone, name, "ring", true));
        await act((at, name) => at.call(phone, name, "hangup", true));
      },
      statuses: ["incoming", "disconnected"],
    },
    revises: { skip: "nobody changes a message on a phone of the sandbox" },
    group: { skip: "nobody makes a group on a phone of the sandbox" },
    confirms: { skip: "a phone of the sandbox gives the receipts it owes, and no others" },
    tellsUnknownAgain: { skip: "the sandbox names the message by its id in every receipt" },
    goes: { skip: `${itself}: it is there as long as it runs` },
    hangs: { skip: `${itself}: it answers as long as it runs` },
    refuses: { skip: `${itself}: no fault of it refuses commands` },
  };
}

const PLAIN = { replyTo: null, channel: "imessage", group: null } as const;

function attachmentsOf(files: readonly PeerFile[]) {
  return files.map(({ bytes, mimeType, filename }, index) => ({
    reference: `file-${index}`,
    mimeType,
    filename,
    totalBytes: bytes.length,
    data: bytes,
  }));
}
