/** Responses to the SMSC while the store accepts nothing, or refuses one message only. Simulated time. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { SimulatedClock } from "../../../test/support/clock.ts";
import { Disk } from "../../../test/support/smsc/instance.ts";
import { deliverSm } from "../../../test/support/smsc/pdus.ts";
import { SignalOutbox } from "../kit/signal-outbox.ts";
import { InboundHandler } from "./inbound-handler.ts";
import { readSettings } from "./settings.ts";

const OK = 0;
const REFUSED = 0x64;
const MINUTE_MS = 60_000;

/** The inbound side of an SMPP instance whose store does what `takes` says, and the responses that it gave. */
class Stage {
  readonly clock = new SimulatedClock();
  readonly disk = new Disk();
  readonly outbox = new SignalOutbox(this.clock);
  readonly session = { isBound: true };
  readonly answers: (number | null)[] = [];
  readonly texts: (string | null)[] = [];
  takes: (text: string | null) => boolean = () => true;
  readonly #inbound: InboundHandler;

  constructor() {
    const { clock, outbox, disk: memory } = this;
    const numbers = async () => [{ address: "+15550000001", customerId: "cust_1", isDefault: true } as const];
    const fault = (error: unknown) => assert.fail(String(error));
    const isNumber = async () => true;
    this.#inbound = new InboundHandler({ memory, clock, outbox, settings: readSettings({}), numbers, isNumber, fault });
    outbox.begin(async (signal) => {
      assert.ok(signal.kind === "inbound");
      if (!this.takes(signal.text)) throw new Error("the store is busy");
      this.texts.push(signal.text);
      return "applied";
    });
  }

  async deliver(text: string): Promise<void> {
    const pdu = deliverSm({ shortMessage: Buffer.from(text, "latin1") });
    void this.#inbound.handle(pdu, this.session).then((answer) => this.answers.push(answer));
    await this.clock.advance(0);
  }
}

test("while the store accepts nothing, a message stays unanswered as long as its session is bound, and is accepted later", async () => {
  for (const failing of ["store", "memory"]) {
    const stage = new Stage();
    stage.takes = () => failing !== "store";
    stage.disk.fails = failing === "memory";
    await stage.deliver("Hello");
    await stage.clock.advance(10 * MINUTE_MS);
    assert.deepEqual([stage.answers, stage.texts], [[], []], failing);
    stage.takes = () => true;
    stage.disk.fails = false;
    await stage.clock.advance(10_000);
    assert.deepEqual([stage.answers, stage.texts], [[OK], ["Hello"]], failing);
  }
});

test("a message that the store refuses while it accepts others is refused after 5 s, so that it does not block them", async () => {
  const stage = new Stage();
  stage.takes = (text) => text !== "poison";
  await stage.deliver("poison");
  await stage.clock.advance(4_000);
  await stage.deliver("Hello");
  assert.deepEqual(stage.answers, [OK]);
  await stage.clock.advance(MINUTE_MS);
  assert.deepEqual([stage.answers, stage.texts], [[OK, REFUSED], ["Hello"]]);
});

test("a message whose session ended, or whose instance stops, gets no response, so that the SMSC repeats it", async () => {
  for (const how of ["session", "stop"]) {
    const stage = new Stage();
    stage.takes = () => false;
    await stage.deliver("Hello");
    if (how === "session") stage.session.isBound = false;
    else stage.outbox.end();
    await stage.clock.advance(10_000);
    assert.deepEqual(stage.answers, [null], how);
    stage.takes = () => true;
    stage.session.isBound = true;
    if (how === "session") await stage.deliver("Hello");
    assert.deepEqual(stage.texts, how === "session" ? ["Hello"] : []);
  }
});
