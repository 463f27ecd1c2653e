/** `kill -9` while messages go out by SMPP: none is submitted twice, and no receipt of a message that was sent is lost. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { Message } from "../../sdk/wire.ts";
import type { SubmitSm } from "../../server/providers/smpp/pdu.ts";
import { emptyDirectory } from "../support/cli.ts";
import { seeded } from "../support/load.ts";
import { ADMIN_KEY, allPages, type Running, startProcess } from "../support/process.ts";
import { deliverSm, NO_TLVS } from "../support/smsc/pdus.ts";
import { type Caller, politeBut, type ScriptedSmsc, scriptedSmsc } from "../support/smsc/scripted.ts";
import { until } from "../support/wait.ts";

const ROUNDS = Number(process.env.TB_CRASH_ROUNDS ?? 12);
const SEED = Number(process.env.TB_CRASH_SEED ?? Date.now() % 2 ** 31);
const OWN = "+15550002001";
const MESSAGES_PER_ROUND = 30;
const LONG = "0123456789".repeat(40);
const USER_MESSAGE_REFERENCE = 0x0204;
/** The messages of a round are sent within this time, and some time after its first 100 ms the process is killed. */
const SENDING_MS = 1_200;
const RECEIPT_MS_MAX = 400;

/** A receipt, until the service has answered it. */
interface UnansweredReceipt {
  id: string;
  submit: SubmitSm;
}

/**
 * An SMSC that outlives the service. It gives every third message no id, and repeats receipts without an answer on the next
 * session.
 */
class Carrier {
  readonly submits: SubmitSm[] = [];
  readonly unanswered = new Set<UnansweredReceipt>();
  readonly #asked = new Map<Caller, UnansweredReceipt[]>();
  readonly #chance: () => number;
  smsc: ScriptedSmsc | null = null;

  constructor(chance: () => number) {
    this.#chance = chance;
  }

  async open(t: TestContext): Promise<number> {
    const script = politeBut({
      submit_sm: (pdu, caller) => this.#accept(pdu as SubmitSm, caller),
      deliver_sm_resp: ({ sequence }, caller) => {
        const answered = this.#asked.get(caller)?.[sequence - 1];
        if (answered !== undefined) this.unanswered.delete(answered);
      },
      enquire_link: ({ sequence }, caller) => caller.send({ command: "enquire_link_resp", status: 0, sequence }),
    });
    this.smsc = await scriptedSmsc(t, { script });
    const { port, callers } = this.smsc;
    const repeat = setInterval(() => {
      const caller = callers.at(-1);
      if (caller === undefined || caller.isClosed || this.#asked.has(caller)) return;
      if (caller.of("bind_transceiver").length > 0) for (const receipt of this.unanswered) this.#ask(receipt, caller);
    }, 20);
    t.after(() => clearInterval(repeat));
    return port;
  }

  #accept(submit: SubmitSm, caller: Caller): void {
    this.submits.push(submit);
    const id = hasNoId(submit) ? "" : `id-${this.submits.length}`;
    caller.send({ command: "submit_sm_resp", status: 0, sequence: submit.sequence, messageId: id, tlvs: NO_TLVS });
    const receipt = { id, submit };
    this.unanswered.add(receipt);
    setTimeout(() => this.#ask(receipt, this.smsc?.last() ?? caller), this.#chance() * RECEIPT_MS_MAX);
  }

  #ask(receipt: UnansweredReceipt, caller: Caller): void {
    if (caller.isClosed || !this.unanswered.has(receipt)) return;
    const asked = this.#asked.get(caller) ?? [];
    this.#asked.set(caller, asked);
    if (asked.includes(receipt)) return;
    const sequence = asked.push(receipt);
    const { id, submit } = receipt;
    const { source, destination, tlvs } = submit;
    const shortMessage = Buffer.from(`${id === "" ? "" : `id:${id} `}stat:DELIVRD err:000`);
    const reference = tlvs.get(USER_MESSAGE_REFERENCE) ?? assert.fail("no user reference");
    const ends = { source: destination, destination: source };
    caller.send(
      deliverSm({ ...ends, sequence, esmClass: 4, shortMessage, tlvs: new Map([[USER_MESSAGE_REFERENCE, reference]]) }),
    );
  }
}

function hasNoId({ destination }: SubmitSm): boolean {
  return Number(destination.address) % 3 === 0;
}

test(`${ROUNDS} kills while messages go out: none is submitted twice, and each one that was sent is delivered`, {
  timeout: 120_000 + ROUNDS * 15_000,
}, async (t) => {
  t.diagnostic(`TB_CRASH_SEED=${SEED}`);
  const chance = seeded(SEED);
  const carrier = new Carrier(chance);
  const port = await carrier.open(t);
  const dataDir = join(emptyDirectory(t), "data");
  let key = "";
  let made = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const service = await startProcess(t, { dataDir });
    if (round === 0) key = await configure(service, port);
    const sending = Array.from({ length: MESSAGES_PER_ROUND }, async () => {
      made += 1;
      const text = made % 2 === 0 ? `${made} ${LONG}` : `${made}`;
      const to = `+1555010${String(made).padStart(4, "0")}`;
      await afterMs(chance() * SENDING_MS);
      await service.ask("POST", "/v1/messages", { to, content: { text } }, key).catch(() => null);
    });
    await afterMs(100 + chance() * SENDING_MS);
    assert.deepEqual(await service.end("SIGKILL"), { code: null, signal: "SIGKILL" });
    await Promise.all(sending);
  }
  const service = await startProcess(t, { dataDir });
  const own = { ask: (method: string, path: string) => service.ask(method, path, undefined, key) };
  const read = async () => (await allPages<Message>(own, "/v1/messages", "messages")).flatMap(({ items }) => items);
  const isQuiet = async () =>
    carrier.unanswered.size === 0 &&
    (await read()).every(({ status }) => status === "delivered" || status === "pending");
  await until(isQuiet, { limitMs: 90_000, what: "every message that was sent being delivered" }).catch(
    async (error) => {
      const left = (await read()).filter(({ status }) => status !== "delivered");
      t.diagnostic(JSON.stringify(left.map(({ to, status, timeline }) => ({ to, status, timeline }))));
      throw error;
    },
  );
  const parts = carrier.submits.map(({ destination, shortMessage, esmClass }) => {
    const part = esmClass === 0 ? 1 : shortMessage[5];
    return `${destination.address} ${part}`;
  });
  assert.equal(new Set(parts).size, parts.length, "a part was submitted twice");
  const messages = await read();
  const delivered = messages.filter(({ status }) => status === "delivered");
  t.diagnostic(`${delivered.length} of ${messages.length} messages were delivered, the others cut off midway`);
  assert.ok(delivered.length > messages.length / 4 && messages.length > ROUNDS);
});

function afterMs(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Creates the instance and a customer with a number on it; returns the customer's key. */
async function configure(service: Running, port: number): Promise<string> {
  const admin = async (path: string, body: unknown) => {
    const created = await service.ask("POST", `/v1/admin${path}`, body, ADMIN_KEY);
    assert.ok(created.status < 300, created.text);
    return created.data;
  };
  const account = { host: "127.0.0.1", port, systemId: "esme", password: "secret", bindMode: "transceiver" };
  const instance = await admin("/instances", { name: "Carrier", provider: "smpp", config: account });
  const customer = await admin("/customers", { name: "Anna's shop" });
  const number = { phoneNumber: OWN, provider: "smpp", instanceId: instance.id };
  await admin(`/customers/${customer.id}/numbers`, number);
  return (await admin("/keys", { name: "shop", customerId: customer.id })).key;
}
