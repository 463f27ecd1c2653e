import assert from "node:assert/strict";
import test from "node:test";
import { SimulatedClock } from "../../../test/support/clock.ts";
import { NO_TLVS, submitSm } from "../../../test/support/smsc/pdus.ts";
import { type Caller, polite, type Script, scriptedSmsc } from "../../../test/support/smsc/scripted.ts";
import { settingsFor, taken } from "../../../test/support/smsc/session.ts";
import { until } from "../../../test/support/wait.ts";
import { encodePdu } from "./codec.ts";
import { type LinkSettings, SmscLink, type SubmitResult } from "./link.ts";
import type { SubmitSm } from "./pdu.ts";

const MESSAGES = 300;
const THROTTLED = 0x58;

/** The SMSC's reaction to the message of each number, in order. */
type Book = Map<number, string[]>;

/** An SMSC that reacts differently to nearly each message; `next` gives numbers from 0 to below 1. */
function unreliable(journal: Book, next: () => number): Script {
  const misdeeds: Record<string, (pdu: SubmitSm, caller: Caller) => void> = {
    taken: (pdu, caller) => caller.send(taken(pdu.sequence, `id-${numberOf(pdu)}`)),
    twice(pdu, caller) {
      caller.send(taken(pdu.sequence, `id-${numberOf(pdu)}`));
      caller.send(taken(pdu.sequence, "second"));
    },
    refused: ({ sequence }, caller) =>
      caller.send({ command: "submit_sm_resp", status: THROTTLED, sequence, messageId: "", tlvs: NO_TLVS }),
    nacked: ({ sequence }, caller) => caller.send({ command: "generic_nack", status: THROTTLED, sequence }),
    unanswered() {},
    misnumbered: ({ sequence }, caller) => caller.send(taken(sequence + 1_000_000)),
    cut({ sequence }, caller) {
      const answer = encodePdu(taken(sequence));
      caller.socket.end(answer.subarray(0, Math.floor(next() * answer.length)));
    },
    reset(_pdu, caller) {
      // Node never releases a socket that is reset while its FIN is on the way.
      if (caller.socket.writable) caller.socket.resetAndDestroy();
    },
    unbound: (_pdu, caller) => caller.send({ command: "unbind", sequence: 1 }),
    garbage: (_pdu, caller) => caller.socket.write(Buffer.from([0, 0, 0, Math.floor(next() * 16)])),
  };
  const names = Object.keys(misdeeds);
  return (pdu, caller) => {
    if (pdu.command !== "submit_sm") return polite(pdu, caller);
    const name = next() < 0.7 ? "taken" : (names[Math.floor(next() * names.length)] ?? "taken");
    const number = numberOf(pdu);
    journal.set(number, [...(journal.get(number) ?? []), name]);
    misdeeds[name]?.(pdu, caller);
  };
}

function numberOf({ shortMessage }: SubmitSm): number {
  return Number(Buffer.from(shortMessage).toString("latin1"));
}

/** A pseudo-random sequence from a seed. */
function numbersOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

for (const seed of [1, 2, 3, 4]) {
  test(`whatever the SMSC does, no message is written twice, and each result is what happened (seed ${seed})`, async (t) => {
    const journal: Book = new Map();
    const next = numbersOf(seed);
    const smsc = await scriptedSmsc(t, { script: unreliable(journal, next) });
    const clock = new SimulatedClock();
    const settings: LinkSettings = {
      ...settingsFor(smsc.port),
      bindMode: "transceiver",
      windowSize: 8,
      throughputPerSecond: 100,
    };
    const link = new SmscLink(settings, { deliver: async () => 0, changed() {}, fault() {} }, clock, next);
    link.start();
    const fates: SubmitResult[] = [];
    let ended = 0;
    const submit = async (number: number) => {
      const shortMessage = new Uint8Array(Buffer.from(String(number), "latin1"));
      fates[number] = await link.submit(submitSm({ shortMessage }));
      ended += 1;
    };
    /** Most messages come while the link is up, and it stays up long enough for a short next wait. */
    const up = async () => {
      if (link.isUp || next() < 0.2) return;
      await until(async () => {
        if (!link.isUp) await clock.advance(500);
        return link.isUp;
      });
      await clock.advance(10_000);
    };
    for (let number = 0; number < MESSAGES; number += 1) {
      await up();
      void submit(number);
      if (number % 4 === 0) await clock.advance(50);
    }
    await until(async () => {
      await clock.advance(500);
      return ended === MESSAGES;
    });
    for (const [number, fate] of fates.entries()) {
      const deeds = journal.get(number) ?? [];
      const reported = `message ${number}: ${JSON.stringify(fate)} after ${deeds.join(", ")}`;
      assert.ok(deeds.length <= 1, reported);
      if (fate.answer === "ok") {
        assert.ok(deeds[0] === "taken" || deeds[0] === "twice", reported);
        assert.equal(fate.messageId, `id-${number}`);
      }
      if (fate.answer === "refused") assert.ok(deeds[0] === "refused" || deeds[0] === "nacked", reported);
      if (fate.answer === "notSent") assert.deepEqual(deeds, [], reported);
    }
    const kinds = new Set(fates.map(({ answer }) => answer));
    assert.deepEqual([...kinds].sort(), ["notSent", "ok", "refused", "unknown"]);
    const stopped = link.stop(5_000);
    await clock.advance(10_000);
    await stopped;
  });
}
