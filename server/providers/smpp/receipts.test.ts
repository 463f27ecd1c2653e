import assert from "node:assert/strict";
import { test } from "node:test";
import { deliverSm } from "../../../test/support/smsc/pdus.ts";
import type { DeliverSm } from "./pdu.ts";
import { type ReceiptSettings, readReceipt } from "./receipts.ts";

const SETTINGS: ReceiptSettings = { messageIdBase: "same", unflaggedReceipts: false };
const WHOLE = "id:0123 sub:001 dlvrd:001 submit date:2601011200 done date:2601011201 stat:DELIVRD err:000 text:Hello";
const ENDS = ["0100001", "0000001"];
const latin1 = (text: string) => Buffer.from(text, "latin1");

function read(pdu: Partial<DeliverSm>, settings: Partial<ReceiptSettings> = {}) {
  return readReceipt({ ...deliverSm(), esmClass: 4, ...pdu }, { ...SETTINGS, ...settings });
}

/** The expected receipt. */
function receipt(pdu: Partial<DeliverSm>, settings: Partial<ReceiptSettings> = {}) {
  const read_ = read(pdu, settings);
  assert.ok(read_ !== null && read_ !== "unreadable");
  return read_;
}

test("a receipt is read from its text alone, in any case, order and data_coding", () => {
  const expected = { ids: ["123"], userReference: null, state: "delivered", word: "DELIVRD", code: null, ends: ENDS };
  assert.deepEqual(receipt({ shortMessage: latin1(WHOLE) }), expected);
  assert.deepEqual(receipt({ shortMessage: latin1("ERR:000 STAT:delivrd ID:123") }), expected);
  for (const dataCoding of [2, 4, 8, 245]) {
    assert.deepEqual(receipt({ shortMessage: latin1(WHOLE), dataCoding }), expected);
  }
  assert.deepEqual(receipt({ shortMessage: Buffer.from(WHOLE, "utf16le").swap16(), dataCoding: 8 }), expected);
  const tlvs = new Map([[0x0424, latin1(WHOLE)]]);
  assert.deepEqual(receipt({ shortMessage: new Uint8Array(), tlvs }), expected);
});

test("optional parameters take precedence over the text, and are enough without a text", () => {
  const tlvs = new Map([
    [0x001e, latin1("9F\0")],
    [0x0427, Uint8Array.of(5)],
    [0x0423, Uint8Array.of(3, 0x01, 0x02)],
    [0x0204, Uint8Array.of(0x12, 0x34)],
  ]);
  const expected = {
    ids: ["9f"],
    userReference: 0x1234,
    state: "failed",
    word: "UNDELIVERABLE",
    code: "258",
    ends: ENDS,
  };
  assert.deepEqual(receipt({ tlvs, shortMessage: new Uint8Array() }), expected);
  assert.deepEqual(receipt({ tlvs, shortMessage: latin1(WHOLE) }), { ...expected, ids: ["9f", "123"] });
  assert.deepEqual(receipt({ tlvs, esmClass: 0, shortMessage: new Uint8Array() }), expected, "unflagged");
});

test("every state of SMPP 3.4 has its meaning, as a number and as a word", () => {
  const meanings: [number, string, string][] = [
    [0, "SCHEDULED", "unclear"],
    [1, "ENROUTE", "underway"],
    [2, "DELIVRD", "delivered"],
    [3, "EXPIRED", "failed"],
    [4, "DELETED", "failed"],
    [5, "UNDELIV", "failed"],
    [6, "ACCEPTD", "underway"],
    [7, "UNKNOWN", "unclear"],
    [8, "REJECTD", "failed"],
  ];
  for (const [number, word, state] of meanings) {
    assert.equal(receipt({ shortMessage: latin1(`id:1 stat:${word} err:000`) }).state, state, word);
    const tlvs = new Map([
      [0x001e, latin1("1")],
      [0x0427, Uint8Array.of(number)],
    ]);
    assert.equal(receipt({ tlvs, shortMessage: new Uint8Array() }).state, state, word);
  }
  for (const word of ["BUFFRED", "BUFFERED", "ACKED"]) {
    assert.equal(receipt({ shortMessage: latin1(`id:1 stat:${word}`) }).state, "underway", word);
  }
});

test("a state that says nothing yields to the one in the other place, and alone it is never proof", () => {
  const both = (number: number, word: string) => {
    const tlvs = new Map([[0x0427, Uint8Array.of(number)]]);
    const { state, word: said } = receipt({ tlvs, shortMessage: latin1(`id:1 stat:${word} err:000`) });
    return [state, said];
  };
  assert.deepEqual(both(0, "DELIVRD"), ["delivered", "DELIVRD"]);
  assert.deepEqual(both(7, "UNDELIV"), ["failed", "UNDELIV"]);
  assert.deepEqual(both(2, "UNKNOWN"), ["delivered", "DELIVERED"]);
  assert.deepEqual(both(0, "UNKNOWN"), ["unclear", "SCHEDULED"]);
  assert.deepEqual(both(7, "ENROUTE"), ["underway", "ENROUTE"]);
});

test("commas, semicolons and quotes separate fields, and belong to none", () => {
  const texts = [
    "id:123,sub:001,dlvrd:001,submit date:2601011200,done date:2601011201,stat:DELIVRD,err:045,text:Hello",
    'id:"123" sub:"001" dlvrd:"001" submit date:"2601011200" done date:"2601011201" stat:"DELIVRD" err:"045" text:"Hello"',
    '"id:123 sub:001 dlvrd:001 submit date:2601011200 done date:2601011201 stat:DELIVRD err:045 text:Hello"',
    "id:'123'; stat:'DELIVRD'; err:'045'",
    '{"id":"123","stat":"DELIVRD","err":"045","text":"id:9 stat:UNDELIV"}',
    "id=123, stat=DELIVRD, err=045",
    "id:123 stat:DELIVRD err:045\0",
  ];
  for (const text of texts) {
    const { ids, state, code } = receipt({ shortMessage: latin1(text) });
    assert.deepEqual([ids, state, code], [["123"], "delivered", "045"], text);
  }
  const unflagged = { unflaggedReceipts: true };
  for (const text of texts.slice(0, 3)) {
    assert.deepEqual(receipt({ esmClass: 0, shortMessage: latin1(text) }, unflagged).ids, ["123"], text);
  }
});

test("the carrier's error code is reported as written, and a code of zeros as none", () => {
  const code = (err: string) => receipt({ shortMessage: latin1(`id:1 stat:UNDELIV err:${err} text:err:999`) }).code;
  assert.deepEqual([code("045"), code("0A"), code("000"), code("0")], ["045", "0A", null, null]);
});

test("a person's text is no receipt even if it looks like one, unless the carrier marks no receipts", () => {
  assert.equal(read({ esmClass: 0, shortMessage: latin1(WHOLE) }), null);
  assert.equal(read({ esmClass: 0, shortMessage: latin1("id:1 stat:DELIVRD") }, { unflaggedReceipts: true }), null);
  assert.equal(receipt({ esmClass: 0, shortMessage: latin1(WHOLE) }, { unflaggedReceipts: true }).state, "delivered");
  assert.equal(read({ esmClass: 0x40, shortMessage: Uint8Array.of(0, 65) }), null);
  const tlvs = new Map([[0x0204, Uint8Array.of(0, 1)]]);
  assert.equal(read({ esmClass: 0, shortMessage: latin1("Hi"), tlvs }), null);
});

test("nothing is read from the text of the message itself", () => {
  const reported = receipt({ shortMessage: latin1("id:1 stat:DELIVRD text:id:2 stat:UNDELIV err:1") });
  assert.deepEqual([reported.ids, reported.state, reported.code], [["1"], "delivered", null]);
});

test("a receipt that names neither a message nor a state is unreadable", () => {
  assert.equal(read({ shortMessage: latin1("Delivered, thank you") }), "unreadable");
  assert.equal(read({ shortMessage: latin1("stat:DELIVRD") }), "unreadable");
  assert.equal(read({ shortMessage: latin1("id:1") }), "unreadable");
  assert.equal(read({ shortMessage: new Uint8Array() }), "unreadable");
});

test("texts with two octets per character are read, also if the message's text is not Latin, or truncated", () => {
  const octets = Buffer.from("id:7 stat:DELIVRD err:000 text:Привет", "utf16le").swap16();
  for (const shortMessage of [octets, octets.subarray(0, -1)]) {
    const receipt = read({ esmClass: 4, dataCoding: 8, shortMessage });
    assert.ok(receipt !== null && receipt !== "unreadable");
    assert.deepEqual([receipt.ids, receipt.state], [["7"], "delivered"]);
  }
});

test("a receipt has the last digits of its two numbers, and nothing of an address that is no number", () => {
  const source = { ton: 1, npi: 1, address: "+15550100001" };
  const destination = { ton: 5, npi: 0, address: "ACME" };
  assert.deepEqual(receipt({ shortMessage: latin1(WHOLE), source, destination }).ends, ["0100001"]);
});
