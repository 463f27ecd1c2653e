/** The provider suite: contacts' actions are reported once, complete, and in spite of every fault. */

import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import type { GroupSnapshot } from "../../server/core/group.ts";
import type { InboundSignal, Signal } from "../../server/providers/provider.ts";
import type { Able, Peer } from "./provider-peer.ts";
import {
  acceptedReference,
  have,
  LIMIT_MS,
  type Life,
  type Promises,
  quiet,
  run,
  type Stage,
  send,
} from "./provider-stage.ts";

/** Bytes that are not text, and more than one packet of them. */
const BYTES = Uint8Array.from({ length: 70_000 }, (_, index) => (index * 7 + (index >> 8)) % 256);

export function people(promise: Promises): void {
  writing(promise);
  hardship(promise);
  doings(promise);
  groups(promise);
}

/** An ability of the peer, or null after skipping the test with the reason. */
export function able<Name extends keyof Peer>(
  { harness: { peer } }: Stage,
  name: Name,
  context: TestContext,
): Exclude<Peer[Name], { skip: string }> | null {
  return given(peer[name], context);
}

function given<Thing>(thing: Able<Thing>, context: TestContext): Exclude<Thing, { skip: string }> | null {
  if (typeof thing === "object" && thing !== null && "skip" in thing) {
    context.skip(thing.skip);
    return null;
  }
  return thing as Exclude<Thing, { skip: string }>;
}

/** The reported signals of a kind. */
function signalsOf<Kind extends Signal["kind"]>(life: Life, kind: Kind): Extract<Signal, { kind: Kind }>[] {
  return life.otherSignals.filter(
    (signal): signal is Extract<typeof signal, { kind: Kind }> => signal.kind === kind,
  ) as Extract<Signal, { kind: Kind }>[];
}

/** Waits until a provider has reported so many signals of a kind, and checks that no more follow. */
async function reportedSignals<Kind extends Exclude<Signal["kind"], "receipt">>(
  { harness }: Stage,
  life: Life,
  kind: Kind,
  count: number,
): Promise<Extract<Signal, { kind: Kind }>[]> {
  await harness.advanceUntil(() => signalsOf(life, kind).length >= count, LIMIT_MS);
  await quiet(harness);
  const found = signalsOf(life, kind);
  assert.equal(found.length, count);
  return found;
}

/** The reported messages, each reference once: a repetition is the same message. */
async function reportedInbounds(stage: Stage, lives: readonly Life[], texts: readonly (string | null)[]) {
  const all = () => {
    const found = lives.flatMap((life) => signalsOf(life, "inbound"));
    return [...new Map(found.map((signal) => [signal.reference, signal])).values()];
  };
  await stage.harness.advanceUntil(() => all().length >= texts.length, LIMIT_MS);
  await quiet(stage.harness);
  assert.deepEqual(
    all().map(({ text }) => text),
    texts,
  );
  return all();
}

function writing(promise: Promises): void {
  promise("a contact's message is reported with its sender, our number and the channel", async (stage, t) => {
    const writes = able(stage, "writes", t);
    if (writes === null) return;
    const life = await stage.live();
    await run(stage, writes("Hello 👋\nthere", []));
    const [signal] = await reportedInbounds(stage, [life], ["Hello 👋\nthere"]);
    assert.ok(signal !== undefined && signal.reference !== "");
    assert.equal(signal.from, stage.harness.peer.contact);
    assert.equal(signal.to, stage.message({ to: "", channel: "sms" }).from);
    assert.ok(life.provider.capabilities.channels.includes(signal.channel));
    assert.deepEqual(
      { group: signal.group, attachments: signal.attachments, replyTo: signal.replyTo, payment: signal.payment },
      { group: null, attachments: [], replyTo: null, payment: null },
    );
  });

  promise("a contact's message counts as an event of the peer", async (stage, t) => {
    const writes = able(stage, "writes", t);
    if (writes === null) return;
    const life = await stage.live();
    await quiet(stage.harness);
    const before = life.events.length;
    await quiet(stage.harness);
    assert.equal(life.events.length, before, "time is no event");
    await run(stage, writes("Hello", []));
    await reportedInbounds(stage, [life], ["Hello"]);
    assert.ok(life.events.length > before);
  });

  promise("a file of a message is reported with its bytes, or with a reference to fetch them", async (stage, t) => {
    const writes = able(stage, "writes", t);
    if (writes === null || able(stage, "files", t) === null) return;
    const life = await stage.live();
    await run(stage, writes("Look", [{ bytes: BYTES, mimeType: "application/pdf", filename: "plan.pdf" }]));
    const [signal] = await reportedInbounds(stage, [life], ["Look"]);
    const [file, ...others] = signal?.attachments ?? [];
    assert.ok(file !== undefined && others.length === 0);
    assert.equal(file.mimeType, "application/pdf");
    const abort = new AbortController().signal;
    const bytes = file.data ?? (await run(stage, life.provider.actions?.fetch?.(file.reference, abort) ?? missing()));
    assert.ok(
      bytes !== null && Buffer.from(bytes).equals(Buffer.from(BYTES)),
      "these are not the bytes that were sent",
    );
  });

  promise("a message of files only is reported, without an invented text", async (stage, t) => {
    const writes = able(stage, "writes", t);
    if (writes === null || able(stage, "files", t) === null) return;
    const life = await stage.live();
    await run(stage, writes(null, [{ bytes: BYTES, mimeType: "application/pdf", filename: "plan.pdf" }]));
    await stage.harness.advanceUntil(() => signalsOf(life, "inbound").length > 0, LIMIT_MS);
    const [signal] = signalsOf(life, "inbound");
    assert.ok(signal?.text === null || signal?.text === "");
    assert.equal(signal.attachments.length, 1);
  });
}

function missing(): Promise<never> {
  return Promise.reject(new Error("a file without its bytes came from a provider that cannot fetch them"));
}

function hardship(promise: Promises): void {
  promise("a contact's message that the engine could not accept is reported again until it does", async (stage, t) => {
    const writes = able(stage, "writes", t);
    if (writes === null || able(stage, "insists", t) === null) return;
    const life = await stage.live();
    let failures = 0;
    life.listen = async (signal) => {
      if (signal.kind !== "inbound" || failures === 3) return;
      failures += 1;
      throw new Error("the store is busy");
    };
    await run(stage, writes("Once", []));
    await reportedInbounds(stage, [life], ["Once"]);
    assert.equal(failures, 3);
  });

  promise("a message that the peer repeats has one reference", async (stage, t) => {
    const writes = able(stage, "writes", t);
    const repeats = able(stage, "repeats", t);
    if (writes === null || repeats === null) return;
    const life = await stage.live();
    await run(stage, writes("Once", []));
    await reportedInbounds(stage, [life], ["Once"]);
    await run(stage, repeats());
    await run(stage, writes("And another", []));
    await reportedInbounds(stage, [life], ["Once", "And another"]);
  });

  for (const how of ["stop", "death"] as const) {
    promise(`a message written after a ${how} is reported by the next process`, async (stage, t) => {
      const writes = able(stage, "writes", t);
      if (writes === null || able(stage, "keeps", t) === null) return;
      const first = await stage.live();
      await run(stage, writes("Before", []));
      await reportedInbounds(stage, [first], ["Before"]);
      if (how === "stop") await run(stage, first.provider.stop());
      else first.die();
      await run(stage, writes("Meanwhile", []));
      await quiet(stage.harness);
      const second = await stage.live();
      await reportedInbounds(stage, [first, second], ["Before", "Meanwhile"]);
    });
  }

  promise("a message written while the peer is unreachable is reported when it is back", async (stage, t) => {
    const writes = able(stage, "writes", t);
    const goes = able(stage, "goes", t);
    if (writes === null || goes === null || able(stage, "keeps", t) === null) return;
    const life = await stage.live();
    await run(stage, writes("Before", []));
    await reportedInbounds(stage, [life], ["Before"]);
    const comeBack = goes();
    await quiet(stage.harness);
    await run(stage, writes("Meanwhile", []));
    await quiet(stage.harness);
    await comeBack();
    await reportedInbounds(stage, [life], ["Before", "Meanwhile"]);
  });

  for (const what of ["writes", "reacts", "pays", "renames"] as const) {
    promise(`a crash while the engine accepts what somebody ${what} does not lose it`, async (stage, t) => {
      const act = await actOf(stage, what, t);
      if (act === null || able(stage, "keeps", t) === null) return;
      const first = await stage.live();
      // The first action shows the provider where the peer stands, as in any life but the very first.
      const kind = await act.before(first);
      await quiet(stage.harness);
      const before = first.otherSignals.length;
      first.listen = async (signal) => {
        if (signal.kind === kind) first.die();
      };
      act.now();
      await stage.harness.advanceUntil(() => first.dead, LIMIT_MS);
      assert.ok(first.dead, "it was not told");
      const second = await stage.live();
      const isReported = () => named([...first.otherSignals, ...second.otherSignals]).length > before;
      assert.ok(await stage.harness.advanceUntil(isReported, LIMIT_MS), "it was lost");
      await quiet(stage.harness);
      assert.equal(named([...first.otherSignals, ...second.otherSignals]).length, before + 1);
    });
  }
}

/** Drops signals whose reference came before: a repetition changes nothing. */
function named(signals: readonly Signal[]): string[] {
  return [...new Set(signals.flatMap((signal) => ("reference" in signal ? [signal.reference] : [])))];
}

/** An action of a contact: its preparation, and the action itself, which nobody waits for. */
async function actOf(stage: Stage, what: "writes" | "reacts" | "pays" | "renames", t: TestContext) {
  const writes = able(stage, "writes", t);
  if (writes === null) return null;
  const hello = async (life: Life) => {
    await run(stage, writes("Before", []));
    await reportedInbounds(stage, [life], ["Before"]);
  };
  const act = (kind: Signal["kind"], before: (life: Life) => Promise<void>, doing: () => Promise<void>) => ({
    before: async (life: Life) => {
      await before(life);
      return kind;
    },
    now: () => void doing().catch(() => {}),
  });
  if (what === "writes") return act("inbound", hello, () => writes("Half", []));
  const pays = what === "pays" ? able(stage, "pays", t) : null;
  if (pays !== null) return act("inbound", hello, () => pays(700));
  const group = what === "renames" ? able(stage, "group", t) : null;
  const renames = group === null ? null : given(group.renames, t);
  if (group !== null && renames !== null) {
    const inGroup = async (life: Life) => {
      await run(stage, group.writes("Before"));
      await reportedInbounds(stage, [life], ["Before"]);
    };
    return act("group", inGroup, () => renames("The trip"));
  }
  const reacts = what === "reacts" ? able(stage, "reacts", t) : null;
  const scenario = reacts === null ? null : have(stage.harness.scenarios.delivers, t);
  if (reacts === null || scenario === null) return null;
  let reference = "";
  const sent = async (life: Life) => {
    reference = acceptedReference(await send(stage, life, stage.message(scenario)));
  };
  return act("reaction", sent, () => reacts(reference, "love"));
}

/** A provider that had time to connect: some peers notify only once. */
async function connected(stage: Stage): Promise<Life> {
  const life = await stage.live();
  await quiet(stage.harness);
  return life;
}

function doings(promise: Promises): void {
  promise("a reaction has the reference of its message, and its removal is reported", async (stage, t) => {
    const reacts = able(stage, "reacts", t);
    const scenario = have(stage.harness.scenarios.delivers, t);
    if (reacts === null || scenario === null) return;
    const life = await stage.live();
    const reference = acceptedReference(await send(stage, life, stage.message(scenario)));
    await run(stage, reacts(reference, "love"));
    await stage.harness.advanceUntil(() => signalsOf(life, "reaction").length > 0, LIMIT_MS);
    await run(stage, reacts(reference, "-love"));
    const reported = await reportedSignals(stage, life, "reaction", 2);
    assert.deepEqual(
      reported.map(({ target, type }) => [target, type]),
      [
        [reference, "love"],
        [reference, "remove"],
      ],
    );
    assert.equal(new Set(reported.map((signal) => signal.reference)).size, 2);
    assert.equal(signalsOf(life, "inbound").length, 0, "a reaction is no message");
  });

  promise("the beginning and the end of typing are reported", async (stage, t) => {
    const types = able(stage, "types", t);
    if (types === null) return;
    const life = await connected(stage);
    for (const typing of [true, false]) {
      await run(stage, types(typing));
      const isReported = () => signalsOf(life, "typing").at(-1)?.typing === typing;
      assert.ok(await stage.harness.advanceUntil(isReported, LIMIT_MS), `typing ${typing} was not told`);
    }
    const [signal] = signalsOf(life, "typing");
    assert.equal(signal?.from, stage.harness.peer.contact);
  });

  promise("a payment is reported with its amount", async (stage, t) => {
    const pays = able(stage, "pays", t);
    if (pays === null) return;
    const life = await stage.live();
    await run(stage, pays(2_550));
    await stage.harness.advanceUntil(() => signalsOf(life, "inbound").length > 0, LIMIT_MS);
    const [signal] = signalsOf(life, "inbound");
    assert.deepEqual(signal?.payment, { amountCents: 2_550, currency: "USD", isRequest: false });
  });

  promise("a call is reported from its ringing on, with one id", async (stage, t) => {
    const rings = able(stage, "rings", t);
    if (rings === null) return;
    const life = await connected(stage);
    await run(stage, rings.act());
    const reported = await reportedSignals(stage, life, "call", rings.statuses.length);
    assert.deepEqual(
      reported.map(({ status }) => status),
      rings.statuses,
    );
    assert.equal(new Set(reported.map(({ callUuid }) => callUuid)).size, 1);
    assert.ok(reported.every(({ caller, isOutgoing }) => caller === stage.harness.peer.contact && !isOutgoing));
  });

  promise("an edit and an unsend are reported with the reference of the message", async (stage, t) => {
    const writes = able(stage, "writes", t);
    const revises = able(stage, "revises", t);
    if (writes === null || revises === null) return;
    const life = await stage.live();
    await run(stage, writes("Teh plan", []));
    const [message] = await reportedInbounds(stage, [life], ["Teh plan"]);
    for (const text of ["The plan", null]) {
      await quiet(stage.harness);
      await run(stage, revises(text));
      const isReported = () => signalsOf(life, "revision").at(-1)?.text === text;
      assert.ok(await stage.harness.advanceUntil(isReported, LIMIT_MS), `${text} was not told`);
    }
    assert.ok(signalsOf(life, "revision").every(({ reference }) => reference === message?.reference));
    await reportedInbounds(stage, [life], ["Teh plan"]);
  });
}

function groups(promise: Promises): void {
  promise(
    "a message to a group is reported with the same group each time, and with all other members",
    async (stage, t) => {
      const group = able(stage, "group", t);
      if (group === null) return;
      const life = await stage.live();
      await run(stage, group.writes("Hello all"));
      await reportedInbounds(stage, [life], ["Hello all"]);
      await run(stage, group.writes("Anyone?"));
      const reported = await reportedInbounds(stage, [life], ["Hello all", "Anyone?"]);
      const groups = reported.map((signal: InboundSignal) => signal.group ?? assert.fail("it has no group"));
      assert.equal(new Set(groups.map(({ reference }) => reference)).size, 1);
      const everybody = [stage.harness.peer.contact, ...group.others].sort();
      for (const { participants } of groups) assert.deepEqual([...participants].sort(), everybody);
    },
  );

  for (const what of ["renames", "adds"] as const) {
    const title = what === "renames" ? "the new name of a group" : "somebody who is brought into a group";
    promise(`${title} is reported once, with the group's present state`, async (stage, t) => {
      const group = able(stage, "group", t);
      const act = group === null ? null : given(group[what], t);
      if (group === null || act === null) return;
      const life = await stage.live();
      await run(stage, group.writes("Hello all"));
      const [first] = await reportedInbounds(stage, [life], ["Hello all"]);
      const wanted = what === "renames" ? "The trip" : "+15550100077";
      await run(stage, act(wanted));
      const reported = await reportedSignals(stage, life, "group", 1);
      const [signal] = reported;
      assert.equal(signal?.change, what === "renames" ? "titleChanged" : "participantAdded");
      assert.equal(what === "renames" ? signal?.title : signal?.participant, wanted);
      assert.equal(signal?.group.reference, (first?.group as GroupSnapshot | null)?.reference);
      await reportedInbounds(stage, [life], ["Hello all"]);
    });
  }
}
