/** `sdk/wire.ts` and the help in `cli/request-fields.ts` are what `contract/` says. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { type Static, type TSchema, Type } from "typebox";
import { EventType, event } from "../contract/event-type.ts";
import { Message } from "../contract/messages.ts";
import { choice, id, optional, orNull, record, request, says, string } from "../contract/schema.ts";
import { SendMessage } from "../contract/sending.ts";
import { asHelp } from "../contract/terminal.ts";
import { renderTypes } from "../contract/typescript.ts";
import type {
  Event,
  EventType as WireEventType,
  Message as WireMessage,
  SendMessage as WireSendMessage,
} from "../sdk/wire.ts";
import { REQUEST_FIELDS, renderOptionHelp, renderWire, WIRE } from "./support/generate-wire.ts";

test("sdk/wire.ts is the output of `npm run wire`", () => {
  assert.equal(readFileSync(WIRE, "utf8"), renderWire(), "run `npm run wire`");
});

test("cli/request-fields.ts is the output of `npm run wire`", () => {
  assert.equal(readFileSync(REQUEST_FIELDS, "utf8"), renderOptionHelp(), "run `npm run wire`");
});

test("a sentence of the contract becomes help in the style of the command line", () => {
  assert.equal(asHelp("Purpose of the payment."), "purpose of the payment");
  assert.equal(asHelp("A `messages` key. Default: all of them."), "a messages key (default: all of them)");
  assert.equal(asHelp("URL of it. Need not be unique."), "URL of it; need not be unique");
});

/** True when the two types are one and the same. Unlike assignability it sees a field that is missing or optional. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

function assertSame<A, B>(same: Same<A, B>): void {
  assert.ok(same);
}

test("a generated type is identical to that of its schema", () => {
  assertSame<Static<typeof SendMessage>, WireSendMessage>(true);
  assertSame<Static<typeof Message>, WireMessage>(true);
  assertSame<Static<typeof EventType>, WireEventType>(true);
  // @ts-expect-error: the two differ
  assertSame<{ a?: 1 }, { a: 1 }>(true);
  void ([SendMessage, Message, EventType] satisfies TSchema[]);
});

test("a check of an event's type narrows its data", () => {
  const text = (one: Event) => (one.type === "message.inbound" ? one.data.text : null);
  const amount = (one: Event) => (one.type === "payment.request.paid" ? one.data.amount : null);
  assertSame<ReturnType<typeof text>, string | null>(true);
  assertSame<ReturnType<typeof amount>, string | null>(true);
});

test("renderTypes turns schemas into named types with descriptions, and keeps constants", () => {
  const COLOURS = ["red", "green"] as const;
  const Colour = choice("Colour", COLOURS, "A colour.");
  const Paint = record("Paint", "A pot of paint.", {
    id: id("paint"),
    colour: says(Colour, "Its colour."),
    former: optional(orNull(Colour, "Its former colour.")),
    tags: Type.Array(Type.String(), { description: "Its tags." }),
    maker: Type.Object({ name: string("Its name.") }, { description: "Its maker." }),
  });
  const Mix = request("Mix", "Mixes paint.", { other: optional(Type.Union([Type.Number(), Type.String()])) });
  const exports = { COLOURS, Colour, Paint, Mix, example: 1, PAINTS_MAX: 9 };
  const events = [event("webhook.test", "Paint was mixed.", Paint, {} as Static<typeof Paint>)];
  const lines = renderTypes([{ exports, comments: { PAINTS_MAX: "Pots in one shop." } }], events);
  for (const part of [
    'export const COLOURS = ["red","green"] as const;',
    "/** A colour. */\nexport type Colour = (typeof COLOURS)[number];",
    "/** A pot of paint. */\nexport type Paint = {\n/** Opaque id; ids sort by creation. */\nid: string;\n/** Its colour. */\ncolour: Colour;",
    "/** Its former colour. */\nformer?: Colour | null;",
    "/** Its tags. */\ntags: (string)[];",
    "/** Its maker. */\nmaker: {\n/** Its name. */\nname: string;\n};",
    "/** Mixes paint. */\nexport interface Mix {\nother?: number | string;\n}",
    "/** Pots in one shop. */\nexport const PAINTS_MAX = 9;",
    '/** Paint was mixed. */\n"webhook.test": Paint;',
  ]) {
    assert.ok(lines.includes(part), `${part}\n\nis not in\n\n${lines}`);
  }
  assert.doesNotMatch(lines, /example/);
});
