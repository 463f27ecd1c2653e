/** SMPP in the provider conformance suite, against a message centre with another codec, in real time. */

import { test } from "node:test";
import { providerConformance } from "../../../test/conformance/provider.ts";
import type { Peer } from "../../../test/conformance/provider-peer.ts";
import { outboundMessage } from "../../../test/support/outbound.ts";
import { TO } from "../../../test/support/smsc/instance.ts";
import {
  hasSmsc,
  isInstalled,
  PASSWORD,
  type SeenSubmit,
  type Smsc,
  SYSTEM_ID,
  startSmsc,
} from "../../../test/support/smsc/smsc.ts";
import { until } from "../../../test/support/wait.ts";
import { systemClock } from "../../clock.ts";
import { toGsm } from "../../core/gsm.ts";
import type { Provider, ProviderContext } from "../provider.ts";
import { createSmpp } from "./smpp.ts";

const CONTACT = `${TO}99`;
const OWN = outboundMessage({ messageId: "msg_own", to: "" }).from;
const NO_ASKING = { skip: "an SMSC cannot be asked about a message whose id never arrived" };
const NOT_SMS = { skip: "SMS knows no such thing" };

/** A message centre, and its predecessors on the same port. */
class Centre {
  smsc: Smsc;
  isGone = false;
  readonly #former: SeenSubmit[] = [];
  /** Messages that contacts wrote while it was away: phones keep them until it is back. */
  readonly #waiting: { from: string; fields: Record<string, string | number> }[] = [];

  constructor(smsc: Smsc) {
    this.smsc = smsc;
  }

  /** How often the centre accepted a text. */
  taken(text: string): number {
    const octets = Buffer.from(toGsm(text) ?? []).toString("hex");
    const all = [...this.#former, ...this.smsc.submits];
    return all.filter((submit) => submit.status === 0 && submit.octets === octets).length;
  }

  async deliver(from: string, fields: Record<string, string | number>): Promise<void> {
    if (this.isGone) this.#waiting.push({ from, fields });
    else await this.smsc.deliver(from.slice(1), OWN.slice(1), fields);
  }

  /** After its return it is a new centre, which knows nothing. */
  goes() {
    const { port } = this.smsc;
    const killed = this.smsc.kill();
    this.isGone = true;
    return async () => {
      if (!this.isGone) return;
      await killed;
      this.#former.push(...this.smsc.submits);
      this.smsc = await startSmsc({ port, "first-id": 500_000 });
      this.isGone = false;
      for (const { from, fields } of this.#waiting.splice(0)) await this.deliver(from, fields);
    };
  }
}

if (!isInstalled()) {
  test("SMPP in the provider conformance suite", (t) => void hasSmsc(t));
} else {
  providerConformance("SMPP", async () => {
    const centre = new Centre(await startSmsc());
    return {
      clock: systemClock(),
      advanceUntil,
      create: (context) => createBound(context, centre),
      taken: ({ text }) => centre.taken(text),
      scenarios: {
        delivers: { to: `${TO}00`, channel: "sms", receipts: ["delivered"] },
        jumbles: { to: `${TO}22`, channel: "sms", receipts: ["delivered", "delivered"] },
        slow: { to: `${TO}04`, channel: "sms", receipts: ["delivered"] },
        rejects: { to: `${TO}11`, channel: "sms" },
        notReachable: { to: "anna@example.com", channel: "sms" },
        defers: { to: `${TO}58`, channel: "sms", times: 2, receipts: ["delivered"] },
        answers: { to: `${TO}10`, channel: "sms", receipts: ["delivered"], answers: ["inbound"] },
        losesAnswer: NO_ASKING,
        partly: { skip: "what is missing of a long text cannot be sent later: it stays unknown" },
        early: { to: `${TO}99`, channel: "sms", receipts: ["delivered"] },
      },
      knowsRepeats: { skip: "an SMSC sends again what it is given again" },
      strayReceipt: () => centre.deliver(CONTACT, { esm_class: 4, short_message: receipt("999999999") }),
      peer: peerOf(centre),
      quietMs: 400,
      stop: () => centre.smsc.kill(),
    };
  });
}

/** An instance that is bound when `start()` ends, like one that has been running. */
function createBound(context: ProviderContext, centre: Centre): Provider {
  const { port } = centre.smsc;
  const config = { host: "127.0.0.1", port, systemId: SYSTEM_ID, password: PASSWORD, bindMode: "transceiver" };
  const provider = createSmpp({ ...context, config });
  const start = provider.start.bind(provider);
  provider.start = async (signals) => {
    await start(signals);
    await until(() => provider.isUp, { what: "the bind" });
  };
  // A message that is sent at the very moment of the break is unknown. The suite means a centre that was gone before.
  const send = provider.send.bind(provider);
  provider.send = async (message, abort) => {
    if (centre.isGone) await until(() => provider.isUp === false, { what: "the end of the bind" });
    return await send(message, abort);
  };
  return provider;
}

function peerOf(centre: Centre): Peer {
  let written = {};
  const deliver = () => centre.deliver(CONTACT, written);
  return {
    contact: CONTACT,
    writes: async (text) => {
      const octets = Buffer.from(text ?? "", "utf16le").swap16();
      const isLong = octets.length > 254;
      written = {
        data_coding: 8,
        short_message: isLong ? "" : octets.toString("hex"),
        ...(isLong ? { message_payload: octets.toString("hex") } : {}),
      };
      await deliver();
    },
    writesFrom: (address, text) => centre.deliver(address, { short_message: Buffer.from(text).toString("hex") }),
    lastRecipient: () => `+${centre.smsc.submits.at(-1)?.destination_addr}`,
    longTexts: true,
    files: NOT_SMS,
    insists: true,
    // The centre never got our response, because this is a new connection.
    repeats: async () => {
      await centre.smsc.order({ do: "drop" });
      await deliver();
    },
    keeps: true,
    reacts: NOT_SMS,
    types: NOT_SMS,
    pays: NOT_SMS,
    rings: NOT_SMS,
    revises: NOT_SMS,
    group: NOT_SMS,
    confirms: { skip: "SMS knows no receipts of reading; others that are late and repeated have tests of their own" },
    tellsUnknownAgain: true,
    goes: () => centre.goes(),
    hangs: () => {
      void centre.smsc.order({ do: "silent", on: true });
      return () => centre.smsc.order({ do: "silent", on: false });
    },
    refuses: NOT_SMS,
  };
}

function receipt(id: string): string {
  return Buffer.from(`id:${id} stat:DELIVRD err:000`).toString("hex");
}

/** Real time, a few milliseconds at a time. */
async function advanceUntil(condition: () => boolean, limitMs: number): Promise<boolean> {
  const end = performance.now() + limitMs;
  while (!condition()) {
    if (performance.now() >= end) return condition();
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  return true;
}
