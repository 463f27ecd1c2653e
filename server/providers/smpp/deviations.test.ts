/** The table of docs/providers/smpp.md, row by row: deviations of carriers from the letter of SMPP, and the answer to each. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, type TestContext, test } from "node:test";
import { OWN, smppStage, type TestInstance, TO } from "../../../test/support/smsc/instance.ts";
import { hasSmsc, type Smsc } from "../../../test/support/smsc/smsc.ts";
import { until } from "../../../test/support/wait.ts";
import { toGsm } from "../../core/gsm.ts";

const ANNA = "15550100001";
const ME = OWN.slice(1);
const hex = (octets: Uint8Array | null) => Buffer.from(octets ?? []).toString("hex");
const gsm = (text: string) => hex(toGsm(text));
const latin1 = (text: string) => Buffer.from(text, "latin1").toString("hex");
const ucs2 = (text: string) => hex(Buffer.from(text, "utf16le").swap16());

/** Fields of a deliver_sm by their names, with the octets in hexadecimal. */
type Fields = Record<string, string | number>;

/** A carrier, the instance that is bound to it, and the id of a message that it has accepted and sent no receipt of. */
interface Place {
  smsc: Smsc;
  instance: TestInstance;
  id: string;
}

interface Row {
  /** The two columns of the document. */
  arrives: string;
  does: string;
  /** The PDUs, from Anna to our number unless they say otherwise. */
  sends: readonly Fields[] | ((place: Place) => readonly Fields[]);
  /** The texts that come of it, or those of contacts with their senders. */
  texts?: readonly string[];
  /** The receipts that come of it. */
  receipts?: readonly string[];
  from?: string;
  /** The command_status of each response; 0 if absent. */
  status?: number;
  /** The warning of the instance. */
  warns?: RegExp;
}

/** A receipt of the accepted message. */
const receipt = (short_message: string, more: Fields = {}): Fields => ({
  source_addr: `${TO}06`.slice(1),
  esm_class: 4,
  short_message,
  ...more,
});
const appendixB = (id: string, stat: string, separator = " ") =>
  [
    ...[`id:${id}`, "sub:001", "dlvrd:001", "submit date:2601011200", "done date:2601011201"],
    ...[`stat:${stat}`, "err:000", "text:Hello"],
  ].join(separator);
const header = (elements: string, text: string): Fields => ({
  esm_class: 0x40,
  short_message: `${(elements.length / 2).toString(16).padStart(2, "0")}${elements}${text}`,
});
const part = (index: number, text: string) => header(`00030702${index.toString().padStart(2, "0")}`, gsm(text));

const GSM: readonly Row[] = [
  {
    arrives: "a text of seven bits whose length counts a NUL at its end, `00`, which is `@` in GSM 03.38",
    does: "The NUL is left out, until a text of the carrier ends without it: from then on it is an `@`.",
    sends: [{ short_message: `${gsm("STOP")}00` }, { short_message: gsm("Hi") }, { short_message: gsm("at 8 @") }],
    texts: ["STOP", "Hi", "at 8 @"],
  },
  {
    arrives: "a text in UCS-2, Latin-1 or IA5 whose length counts a NUL",
    does: "The NUL is left out.",
    sends: [
      { data_coding: 8, short_message: `${ucs2("ą")}00` },
      { data_coding: 8, short_message: `${ucs2("ę")}0000` },
      { data_coding: 3, short_message: "e700" },
      { data_coding: 1, short_message: "4100" },
    ],
    texts: ["ą", "ę", "ç", "A"],
  },
  {
    arrives: "a text or receipt whose length counts a NUL that is not sent, at the end of the PDU",
    does: "It is read. The instance warns of it.",
    sends: (place) => [
      { short_message: `${gsm("Hello")}00`, unsent: 1 },
      { data_coding: 8, short_message: `${ucs2("ą")}00`, unsent: 1 },
      { data_coding: 8, short_message: `${ucs2("ę")}0000`, unsent: 2 },
      { data_coding: 8, short_message: `${ucs2("ć")}0000`, unsent: 1 },
      receipt(`${latin1(appendixB(place.id, "DELIVRD"))}00`, { unsent: 1 }),
    ],
    texts: ["Hello", "ą", "ę", "ć"],
    receipts: ["delivered"],
    warns: /^5 messages or receipts of the SMSC counted a NUL at their end that they did not have/m,
  },
  {
    arrives: "octets after the last field that are no optional parameter, such as one NUL",
    does: "They are ignored, and the text or receipt is read. The instance warns of them.",
    sends: (place) => [
      { short_message: gsm("One"), rest: "00" },
      { short_message: gsm("Two"), user_message_reference: "0001", rest: "0427000902" },
      receipt(latin1(appendixB(place.id, "DELIVRD")), { rest: "00" }),
    ],
    texts: ["One", "Two"],
    receipts: ["delivered"],
    warns: /3 messages or receipts of the SMSC ended in octets that are no optional parameter/,
  },
  {
    arrives: "a text in UCS-2 with a byte order mark, of either order",
    does: "The mark gives the order of the octets, and is no character. Without one, the high octet is first.",
    sends: [
      { data_coding: 8, short_message: `feff${ucs2("Žluť")}` },
      { data_coding: 8, short_message: `fffe${hex(Buffer.from("Žluť 👋", "utf16le"))}` },
    ],
    texts: ["Žluť", "Žluť 👋"],
  },
  {
    arrives: "a text in UCS-2 with the low octet first and no mark",
    does: "It is read so if all of it is ASCII and has a space. Any other text is read with the high octet first, since it may be one so.",
    sends: [
      { data_coding: 8, short_message: hex(Buffer.from("Stop it, now!\r\n", "utf16le")) },
      { data_coding: 8, short_message: `${hex(Buffer.from("A b", "utf16le"))}0000` },
      { data_coding: 8, short_message: ucs2("开一刀") },
      { data_coding: 8, short_message: ucs2("开 一刀") },
    ],
    texts: ["Stop it, now!\r\n", "A b", "开一刀", "开 一刀"],
  },
  {
    arrives: "a header with a national table of Turkish, Spanish or Portuguese (elements 24 and 25)",
    does: "The text is read by that table.",
    sends: [
      header("250101240101", "07730b1b49"),
      header("240102", "1b411b09"),
      header("250103", "0b7b18"),
      header("240103", "1b7b1b1f"),
    ],
    texts: ["ısĞİ", "Áç", "Ôã€", "ãÊ"],
  },
  {
    arrives: "a header with the national table of another language",
    does: "A character of that table is U+FFFD, and never a letter of another table.",
    sends: [header("250106", "4120"), header("240106", "411b41")],
    texts: ["\ufffd ", "A\ufffd"],
  },
  {
    arrives: "octets in data_coding 0 that are no character of the default alphabet",
    does: "Each is U+FFFD. The instance warns: set `defaultAlphabet`.",
    sends: [{ short_message: latin1("gar\xe7on") }],
    texts: ["gar\ufffdon"],
    warns: /^1 text with data_coding 0 had octets that are no character of GSM 03\.38/m,
  },
  {
    arrives: "the same long text twice, with one reference, over one session",
    does: "Two texts.",
    sends: [part(1, "Once "), part(2, "more"), part(1, "Once "), part(2, "more")],
    texts: ["Once more", "Once more"],
  },
  {
    arrives: "some parts of a long text once more",
    does: "Nothing: they are repeats.",
    sends: [part(1, "Only "), part(2, "once"), part(2, "once")],
    texts: ["Only once"],
  },
  {
    arrives: "a text from an alphanumeric sender (TON 5)",
    does: "It is received from that name. An answer to it is refused with `INVALID_PHONE_NUMBER`.",
    sends: [{ source_addr_ton: 5, source_addr_npi: 0, source_addr: "MyBank", short_message: gsm("Code 1234") }],
    texts: ["Code 1234"],
    from: "MyBank",
  },
  {
    arrives: "a text to an address that is no number of the service",
    does: "It is answered, and nobody gets it. The instance warns of it.",
    sends: [{ destination_addr: "15550000077", short_message: gsm("Hello?") }],
    texts: ["Hello?"],
    warns: /^1 text came to an address that is no number of this service \(last: …0077\)/m,
  },
  {
    arrives: "a receipt with commas or semicolons between its fields, or with quotes around its values",
    does: "They belong to no value.",
    sends: ({ id }) => [
      receipt(latin1(appendixB(id, "DELIVRD", ","))),
      receipt(latin1(appendixB(`"${id}"`, "'UNDELIV'", "; "))),
    ],
    receipts: ["delivered", "failed"],
  },
  {
    arrives: "a receipt whose id is a signed integer, `-123`, where the response had the unsigned one, 4294967173",
    does: "They are one id.",
    sends: ({ id }) => [receipt(latin1(appendixB(String(Number(id) - 2 ** 32), "DELIVRD")))],
    receipts: ["delivered"],
  },
  {
    arrives: "`receipted_message_id` with and without a NUL, and a receipt whose text ends with one",
    does: "The NUL belongs to no value.",
    sends: ({ id }) => [
      receipt("", { receipted_message_id: latin1(id), message_state: "02" }),
      receipt("", { receipted_message_id: latin1(`${id}\0`), message_state: "02" }),
      receipt(latin1(`stat:DELIVRD id:${id}\0`)),
    ],
    receipts: ["delivered", "delivered", "delivered"],
  },
  {
    arrives: "`stat:UNKNOWN`, or message_state 0 or 7, and no state in the other place",
    does: "It proves nothing: the message stays as it is.",
    sends: ({ id }) => [
      receipt(latin1(appendixB(id, "UNKNOWN"))),
      receipt("", { receipted_message_id: latin1(id), message_state: "00" }),
      receipt(latin1(appendixB(id, "UNKNOWN")), { receipted_message_id: latin1(id), message_state: "07" }),
    ],
  },
  {
    arrives: "`stat:DELIVRD` with message_state 0 or 7, or `stat:UNKNOWN` with message_state 2",
    does: "The place that names a state counts.",
    sends: ({ id }) => [
      receipt(latin1(appendixB(id, "DELIVRD")), { receipted_message_id: latin1(id), message_state: "00" }),
      receipt(latin1(appendixB(id, "UNDELIV")), { receipted_message_id: latin1(id), message_state: "07" }),
      receipt(latin1(appendixB(id, "UNKNOWN")), { receipted_message_id: latin1(id), message_state: "02" }),
    ],
    receipts: ["delivered", "failed", "delivered"],
  },
  {
    arrives: "a receipt that nothing marks as one, with the id of a message between the same two numbers",
    does: "It is a receipt, and no text of the contact.",
    sends: ({ id }) => [
      receipt(latin1(appendixB(id, "DELIVRD")), { esm_class: 0 }),
      receipt(latin1(`id:${id} stat:ENROUTE`), { esm_class: 0 }),
      receipt(latin1(`id:${id} stat:UNKNOWN`), { esm_class: 0 }),
    ],
    receipts: ["delivered"],
  },
  {
    arrives: "a text in the form of a receipt, with an id that is not known, or that of a message to another number",
    does: "It is a text of the contact, since anybody can write it; with `unflaggedReceipts` it is a receipt.",
    sends: ({ id }) => [
      { short_message: latin1("id:no-such-id stat:DELIVRD") },
      { short_message: latin1(`id:${id} stat:UNDELIV`) },
    ],
    texts: ["id:no-such-id stat:DELIVRD", "id:1 stat:UNDELIV"],
  },
  {
    arrives: "a message without a text whose last parameter is cut off, which may be the text (`message_payload`)",
    does: "It is refused with ESME_RINVOPTPARSTREAM (0xC0), and the instance is degraded.",
    sends: [{ short_message: "", rest: "0424000902" }],
    status: 0xc0,
    warns: /^The SMSC sent \d+ messages? or receipts? that cannot be read/m,
  },
  {
    arrives: "a text that lacks more octets at its end than a NUL has, or half a character",
    does: "It is refused with ESME_RINVCMDLEN (0x02), and the instance is degraded.",
    sends: [
      { short_message: gsm("Hello"), unsent: 2 },
      { short_message: "00", unsent: 1 },
      { data_coding: 8, short_message: ucs2("Žluť"), unsent: 1 },
      { data_coding: 8, short_message: ucs2("Žluť"), unsent: 4 },
      { data_coding: 4, short_message: "010203", unsent: 1 },
      { ...part(1, ""), unsent: 1 },
    ],
    status: 0x02,
    warns: /^The SMSC sent \d+ messages? or receipts? that cannot be read/m,
  },
];

const LATIN1: readonly Row[] = [
  {
    arrives: 'data_coding 0 with `"defaultAlphabet": "latin1"`',
    does: "It is Latin-1. A text goes out so too, if GSM-7 has all of its characters.",
    sends: [{ short_message: latin1("{gar\xe7on} @_$") }],
    texts: ["{gar\xe7on} @_$"],
  },
];

const ASCII: readonly Row[] = [
  {
    arrives: 'data_coding 0 with `"defaultAlphabet": "ascii"`',
    does: "It is ASCII, and any other octet U+FFFD. A text goes out so too, if GSM-7 has all of its characters.",
    sends: [{ short_message: latin1("[a] @_$") }, { short_message: latin1("\xe7") }],
    texts: ["[a] @_$", "\ufffd"],
    warns: /^1 text with data_coding 0 had octets that are no character of ASCII/m,
  },
];

/** The carrier of an instance, which gives ids that a signed integer of 32 bits cannot hold. */
async function placeOf(t: TestContext, config: Record<string, unknown> = {}): Promise<Omit<Place, "id"> | null> {
  return await smppStage(t, { config }, { "first-id": 4_294_960_000 });
}

async function check(place: Omit<Place, "id">, row: Row): Promise<void> {
  const { smsc, instance } = place;
  const id = await instance.accepted(`${TO}06`);
  const pdus = typeof row.sends === "function" ? row.sends({ ...place, id }) : row.sends;
  const [texts, receipts] = [instance.inbound.length, instance.receipts.length];
  // The first answer to each PDU: the carrier repeats what is refused.
  const answers = () => {
    const taken = smsc.seen.filter(({ event }) => event === "taken").toReversed();
    return [...new Map(taken.map(({ number, status }) => [number, status]))]
      .sort(([a = 0], [b = 0]) => a - b)
      .map(([, status]) => status);
  };
  const before = answers().length;
  for (const [at, fields] of pdus.entries()) {
    await smsc.deliver(ANNA, ME, fields);
    await until(() => answers().length > before + at, { what: `the answer to PDU ${at} of “${row.arrives}”` });
  }
  assert.deepEqual(
    answers().slice(before, before + pdus.length),
    pdus.map(() => row.status ?? 0),
  );
  const came = instance.inbound.slice(texts);
  const expected = (row.texts ?? []).map((text) => text.replace("id:1 ", `id:${id} `));
  assert.deepEqual(
    came.map(({ text }) => text),
    expected,
  );
  assert.equal(new Set(came.map(({ reference }) => reference)).size, came.length);
  if (row.from !== undefined) assert.equal(came[0]?.from, row.from);
  assert.deepEqual(
    instance.receipts.slice(receipts).map((signal) => signal.receipt),
    row.receipts ?? [],
  );
  if (row.warns === undefined) return;
  const { warnings = [] } = await instance.provider.health();
  assert.match(warnings.join("\n"), row.warns);
}

describe("a deviation of a carrier does what the document says of it", () => {
  for (const [title, config, rows] of [
    ["GSM 03.38", {}, GSM],
    ["Latin-1", { defaultAlphabet: "latin1" }, LATIN1],
    ["ASCII", { defaultAlphabet: "ascii" }, ASCII],
  ] as const) {
    test(`with ${title} as the default alphabet`, async (t) => {
      if (!hasSmsc(t)) return;
      const place = await placeOf(t, config);
      assert.ok(place !== null);
      for (const row of rows) await t.test(row.arrives, () => check(place, row));
    });
  }

  test("with another default alphabet a text goes out in it, with its segments counted in septets", async (t) => {
    const forms = [
      ["latin1", "{Zoé} @_$£", latin1("{Zoé} @_$£"), 0, "GSM-7", 1],
      ["latin1", "5 €", ucs2("5 €"), 8, "UCS-2", 1],
      ["ascii", "[".repeat(81), latin1("[".repeat(76)), 0, "GSM-7", 2],
    ] as const;
    for (const [defaultAlphabet, text, octets, dataCoding, encoding, segments] of forms) {
      const place = await placeOf(t, { defaultAlphabet });
      if (place === null) return;
      const outcome = await place.instance.send(`${TO}06`, text);
      assert.deepEqual(outcome.outcome === "accepted" ? [outcome.encoding, outcome.segments] : outcome, [
        encoding,
        segments,
      ]);
      const [first] = place.smsc.submits;
      assert.deepEqual([first?.data_coding, first?.octets], [dataCoding, octets]);
    }
  });

  test("is the table of docs/providers/smpp.md", () => {
    const page = readFileSync(new URL("../../../docs/providers/smpp.md", import.meta.url), "utf8");
    const [, section = ""] = page.split("\n## Where carriers deviate\n");
    const rows = [...GSM, ...LATIN1, ...ASCII].map(({ arrives, does }) => `| ${arrives} | ${does} |`);
    const [body = ""] = section.split("\n## ");
    assert.deepEqual(
      body
        .split("\n")
        .filter((line) => line.startsWith("|"))
        .slice(2),
      rows,
    );
  });
});
