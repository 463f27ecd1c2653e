import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { PDU } from "smpp";
import { runsOf } from "../../../test/support/runs.ts";
import { ANY, anyPdu, dataSm, deliverSm, hex, NO_TLVS, type Range, submitSm } from "../../../test/support/smsc/pdus.ts";
import { decodePdu, encodePdu, errorResponseTo, headerOf, isResponse } from "./codec.ts";
import { FRAME_OCTETS_MAX, PduError } from "./octets.ts";
import type { Pdu, SmppAddress } from "./pdu.ts";

const none: SmppAddress = { ton: 0, npi: 0, address: "" };

/** Written by hand from the tables of SMPP 3.4, field by field. */
const VECTORS: readonly [frame: string, pdu: Pdu][] = [
  [
    "00000030 00000009 00000000 00000001 534d50503354455354 00 7365637265743038 00 53554231 00 34 01 01 31353535 00",
    {
      command: "bind_transceiver",
      sequence: 1,
      systemId: "SMPP3TEST",
      password: "secret08",
      systemType: "SUB1",
      interfaceVersion: 0x34,
      serves: { ton: 1, npi: 1, address: "1555" },
    },
  ],
  [
    "0000001a 80000009 00000000 00000001 534d5343 00 0210 0001 34",
    { command: "bind_transceiver_resp", status: 0, sequence: 1, systemId: "SMSC", tlvs: tlvs([0x0210, "34"]) },
  ],
  [
    "00000010 80000002 0000000e 00000007",
    { command: "bind_transmitter_resp", status: 0x0e, sequence: 7, systemId: "", tlvs: NO_TLVS },
  ],
  [
    "0000003f 00000004 00000000 7fffffff 00 01 01 3135353530303030303031 00 01 01 3135353530313030303031 00 " +
      "40 00 00 00 00 01 00 00 00 08 0500032a0201 4869",
    submitSm({ sequence: 0x7fff_ffff, esmClass: 0x40, shortMessage: bytes("0500032a0201 4869") }),
  ],
  [
    "00000038 00000005 00000000 00000009 434d5400 00 00 31 00 05 00 486f757365 00 04 00 00 00 00 00 00 03 00 02 e940 " +
      "001e 0003 6d3100 0427 0001 02",
    deliverSm({
      sequence: 9,
      serviceType: "CMT",
      source: { ton: 0, npi: 0, address: "1" },
      destination: { ton: 5, npi: 0, address: "House" },
      esmClass: 4,
      dataCoding: 3,
      shortMessage: bytes("e940"),
      tlvs: tlvs([0x001e, "6d3100"], [0x0427, "02"]),
    }),
  ],
  [
    "00000011 80000005 00000000 00000009 00",
    { command: "deliver_sm_resp", status: 0, sequence: 9, messageId: "", tlvs: NO_TLVS },
  ],
  [
    "00000024 00000103 00000000 0000000a 00 01 01 31 00 01 01 32 00 00 01 08 0424 0004 00480069",
    dataSm({
      sequence: 10,
      source: { ton: 1, npi: 1, address: "1" },
      destination: { ton: 1, npi: 1, address: "2" },
      registeredDelivery: 1,
      dataCoding: 8,
      tlvs: tlvs([0x0424, "00480069"]),
    }),
  ],
  [
    "00000016 80000004 00000000 00000002 6162633132 00",
    { command: "submit_sm_resp", status: 0, sequence: 2, messageId: "abc12", tlvs: NO_TLVS },
  ],
  [
    "00000010 80000004 00000058 00000003",
    { command: "submit_sm_resp", status: 0x58, sequence: 3, messageId: "", tlvs: NO_TLVS },
  ],
  [
    "0000001d 00000102 00000000 0000000b 01 01 31 00 02 08 32 00 0422 0001 00",
    {
      command: "alert_notification",
      sequence: 11,
      source: { ton: 1, npi: 1, address: "1" },
      esme: { ton: 2, npi: 8, address: "2" },
      tlvs: tlvs([0x0422, "00"]),
    },
  ],
  [
    "00000014 0000000b 00000000 00000001 61 00 62 00",
    { command: "outbind", sequence: 1, systemId: "a", password: "b" },
  ],
  [
    "00000016 00000003 00000000 00000004 6d31 00 01 01 00",
    { command: "query_sm", sequence: 4, messageId: "m1", source: { ton: 1, npi: 1, address: "" } },
  ],
  [
    "00000016 80000003 00000000 00000004 6d31 00 00 02 00",
    { command: "query_sm_resp", status: 0, sequence: 4, messageId: "m1", finalDate: "", messageState: 2, errorCode: 0 },
  ],
  [
    "0000001a 00000008 00000000 00000004 00 6d31 00 00 00 00 00 00 00",
    { command: "cancel_sm", sequence: 4, serviceType: "", messageId: "m1", source: none, destination: none },
  ],
  ["00000010 80000008 00000011 00000004", { command: "cancel_sm_resp", status: 0x11, sequence: 4 }],
  ["00000010 00000015 00000000 00000005", { command: "enquire_link", sequence: 5 }],
  ["00000010 80000015 00000000 00000005", { command: "enquire_link_resp", status: 0, sequence: 5 }],
  ["00000010 00000006 00000000 00000006", { command: "unbind", sequence: 6 }],
  ["00000010 80000006 00000000 00000006", { command: "unbind_resp", status: 0, sequence: 6 }],
  ["00000010 80000000 00000003 00000000", { command: "generic_nack", status: 3, sequence: 0 }],
];

test("handwritten frames decode to their PDUs, and the PDUs encode to the same frames", () => {
  for (const [frame, pdu] of VECTORS) {
    assert.deepEqual(decodePdu(hex(frame)), pdu, frame);
    assert.equal(encodePdu(pdu).toString("hex"), hex(frame).toString("hex"), pdu.command);
  }
});

test("every PDU survives encoding and decoding", () => {
  fc.assert(
    fc.property(anyPdu(ANY), (pdu) => assert.deepEqual(decodePdu(encodePdu(pdu)), pdu)),
    { numRuns: runsOf(2_000) },
  );
});

test("a frame inside a larger buffer is decoded alone, without the octets after it", () => {
  const around = fc.uint8Array({ minLength: 1, maxLength: 40 });
  fc.assert(
    fc.property(anyPdu(ANY), around, around, (pdu, before, after) => {
      const frame = encodePdu(pdu);
      const whole = Buffer.concat([before, frame, after]);
      assert.deepEqual(decodePdu(whole.subarray(before.length, before.length + frame.length)), pdu);
    }),
    { numRuns: runsOf(500) },
  );
});

test("a truncated request is refused with the missing field, a truncated response is read as far as it goes", () => {
  fc.assert(
    fc.property(anyPdu({ ...ANY, tlvs: fc.constant(NO_TLVS) }), (pdu) => {
      const frame = encodePdu(pdu);
      for (let length = 16; length < frame.length; length += 1) {
        const cut = Buffer.from(frame.subarray(0, length));
        cut.writeUInt32BE(length, 0);
        if (isResponse(headerOf(cut).commandId)) assert.equal(decodePdu(cut).sequence, pdu.sequence);
        // A deliver_sm may count a NUL at the end of its text that is not there.
        else if (pdu.command !== "deliver_sm" || frame.length - length > 2 || !isRead(cut))
          assert.throws(() => decodePdu(cut), isPduError(0x02));
      }
    }),
    { numRuns: runsOf(200) },
  );
});

/** Whether a deliver_sm is read without the end that it counts. */
function isRead(cut: Buffer): boolean {
  try {
    const pdu = decodePdu(cut);
    return pdu.command === "deliver_sm" && pdu.hasUnsentEnd === true;
  } catch {
    return false;
  }
}

test("optional parameters are read up to octets that are none, which are ignored and never short values", () => {
  const frame = encodePdu(deliverSm({ tlvs: tlvs([0x0204, "0001"], [0x001e, "6d3100"]) }));
  for (let length = frame.length - 6; length < frame.length; length += 1) {
    const cut = Buffer.from(frame.subarray(0, length));
    cut.writeUInt32BE(length, 0);
    const read = deliverSm({ tlvs: tlvs([0x0204, "0001"]) });
    assert.deepEqual(decodePdu(cut), { ...read, hasUnreadRest: true });
  }
});

test("octets at the end that may be the only text are ESME_RINVOPTPARSTREAM", () => {
  const payload = tlvs([0x0424, "486921"]);
  for (const pdu of [deliverSm({ shortMessage: new Uint8Array(), tlvs: payload }), dataSm({ tlvs: payload })]) {
    const frame = encodePdu(pdu);
    for (let octets = 1; octets <= 6; octets += 1) {
      const cut = Buffer.from(frame.subarray(0, frame.length - octets));
      cut.writeUInt32BE(cut.length, 0);
      // Fewer octets than a tag and a length hold no text.
      if (octets > 3) assert.deepEqual(decodePdu(cut), { ...pdu, tlvs: NO_TLVS, hasUnreadRest: true });
      else assert.throws(() => decodePdu(cut), isPduError(0xc0, "optional parameters"));
    }
  }
});

test("any octets in a frame decode to a PDU or a PduError", () => {
  const ids = fc.constantFrom(...VECTORS.map(([frame]) => hex(frame).readUInt32BE(4)), 0x21, 0x8000_0021, 0xffff_ffff);
  fc.assert(
    fc.property(ids, fc.uint8Array({ maxLength: 120 }), (id, body) => {
      const frame = Buffer.concat([Buffer.alloc(16), body]);
      frame.writeUInt32BE(frame.length, 0);
      frame.writeUInt32BE(id, 4);
      try {
        decodePdu(frame);
      } catch (error) {
        assert.ok(error instanceof PduError, String(error));
      }
    }),
    { numRuns: runsOf(3_000) },
  );
});

test("a wrong command_length and an unsupported command are refused", () => {
  assert.throws(() => decodePdu(hex("00000011 00000015 00000000 00000005")), isPduError(0x02, "command_length"));
  assert.throws(() => decodePdu(hex("00000010 00000015 0000")), isPduError(0x02, "command_length"));
  assert.throws(() => decodePdu(hex("00000010 00000021 00000000 00000005")), isPduError(0x03, "command_id"));
});

test("a value that does not fit its field is refused, and neither truncated nor replaced", () => {
  const long: [Pdu, string][] = [
    [submitSm({ source: { ton: 1, npi: 1, address: "1".repeat(40) } }), "source_addr"],
    [submitSm({ destination: { ton: 1, npi: 1, address: "1".repeat(21) } }), "destination_addr"],
    [submitSm({ serviceType: "WAPPUSH" }), "service_type"],
    [submitSm({ validityPeriod: "1".repeat(17) }), "validity_period"],
    [submitSm({ shortMessage: new Uint8Array(255) }), "short_message"],
    [submitSm({ tlvs: new Map([[0x0424, new Uint8Array(65_536)]]) }), "optional parameter 1060"],
    [submitSm({ tlvs: new Map([[0x1_0000, new Uint8Array(0)]]) }), "optional parameter 65536"],
    [submitSm({ esmClass: 256 }), "esm_class"],
    [submitSm({ dataCoding: 0.5 }), "data_coding"],
    [submitSm({ priority: -1 }), "priority_flag"],
    [submitSm({ source: { ton: 5, npi: 0, address: "Café €" } }), "source_addr"],
    [submitSm({ source: { ton: 5, npi: 0, address: "a\0b" } }), "source_addr"],
    [submitSm({ sequence: 2 ** 32 }), "sequence_number"],
    [{ command: "generic_nack", status: -1, sequence: 1 }, "command_status"],
  ];
  for (const [pdu, field] of long) {
    assert.throws(
      () => encodePdu(pdu),
      (error) => error instanceof PduError && error.field === field,
      field,
    );
  }
});

test("a payload of 65,535 octets goes through, and no PDU exceeds FRAME_OCTETS_MAX", () => {
  const payload = new Uint8Array(65_535).fill(0x41);
  const pdu = submitSm({ tlvs: new Map([[0x0424, payload]]) });
  assert.deepEqual(decodePdu(encodePdu(pdu)), pdu);
  const most = new Map([
    [0x0424, payload],
    [0x1400, new Uint8Array(FRAME_OCTETS_MAX - 65_535)],
  ]);
  assert.throws(() => encodePdu(submitSm({ tlvs: most })), PduError);
});

test("a repeated optional parameter keeps its first value", () => {
  const frame = Buffer.concat([encodePdu(deliverSm({ tlvs: tlvs([0x0427, "02"]) })), hex("0427 0001 05")]);
  frame.writeUInt32BE(frame.length, 0);
  const pdu = decodePdu(frame);
  assert.deepEqual(pdu.command === "deliver_sm" && pdu.tlvs, tlvs([0x0427, "02"]));
});

test("a sloppy response keeps its meaning: without a final NUL, with octets that are no parameters", () => {
  const unended = decodePdu(hex("00000015 80000004 00000000 00000002 6162633132"));
  assert.equal(unended.command === "submit_sm_resp" && unended.messageId, "abc12");
  const bare = decodePdu(hex("00000010 80000004 00000000 00000002"));
  assert.deepEqual(bare, { command: "submit_sm_resp", status: 0, sequence: 2, messageId: "", tlvs: NO_TLVS });
  const trailing = decodePdu(hex("00000019 80000004 00000000 00000002 6162633132 00 000000"));
  assert.equal(trailing.command === "submit_sm_resp" && trailing.messageId, "abc12");
});

test("an unreadable request is refused with the response of its command", () => {
  const head = { status: 0, sequence: 7 };
  assert.equal(errorResponseTo({ ...head, commandId: 0x05 }, 2).command, "deliver_sm_resp");
  assert.equal(errorResponseTo({ ...head, commandId: 0x103 }, 2).command, "data_sm_resp");
  assert.deepEqual(errorResponseTo({ ...head, commandId: 0x21 }, 3), {
    command: "generic_nack",
    status: 3,
    sequence: 7,
  });
});

/** Leaves out values that npm's codec treats in its own way: texts, header octets, times, octets above 0x7f. */
const TO_NPM: Range = {
  unitMax: 0x7f,
  tlvs: fc
    .array(fc.tuple(fc.constantFrom(0x0202, 0x0203, 0x0423, 0x1204, 0x1400), fc.uint8Array({ maxLength: 20 })))
    .map((entries) => new Map(entries)),
  time: fc.constant(""),
  esmClass: fc.integer({ min: 0, max: 0x3f }),
  // The text is then octets to npm's codec. With a data_coding that it knows, it would decode a string.
  dataCoding: fc.constantFrom(0x04, 0x14, 0xf4),
};
/** npm's codec writes no parameter without a name, and leaves times of 16 octets as they are. */
const FROM_NPM: Range = {
  ...TO_NPM,
  tlvs: TO_NPM.tlvs.map((given) => new Map([...given].filter(([tag]) => tag !== 0x1400))),
  time: ANY.time,
  dataCoding: ANY.dataCoding,
};

test("npm's smpp decodes our PDUs to the same values", () => {
  fc.assert(
    fc.property(anyPdu(TO_NPM), (pdu) => {
      const read = new PDU(encodePdu(pdu));
      assert.equal(read.command, pdu.command);
      for (const [name, value] of Object.entries(fieldsOf(pdu))) {
        const theirs = name === "short_message" ? (read[name] as { message: Buffer }).message : read[name];
        // npm's codec reads no body if the status is an error.
        if (theirs === undefined) assert.ok("status" in pdu && pdu.status !== 0, name);
        else assert.deepEqual(theirs, value, name);
      }
    }),
    { numRuns: runsOf(1_000) },
  );
});

test("PDUs of npm's smpp decode to the same values", () => {
  fc.assert(
    fc.property(anyPdu(FROM_NPM), (pdu) => {
      assert.deepEqual(decodePdu(new PDU(pdu.command, fieldsOf(pdu)).toBuffer()), pdu);
    }),
    { numRuns: runsOf(1_000) },
  );
});

const NPM_TLVS: Readonly<Record<number, string>> = {
  514: "source_subaddress",
  515: "dest_subaddress",
  1059: "network_error_code",
  4612: "ms_validity",
};
const NPM_NAMES: Readonly<Record<string, string>> = {
  sequence: "sequence_number",
  status: "command_status",
  priority: "priority_flag",
  replaceIfPresent: "replace_if_present_flag",
  defaultMessageId: "sm_default_msg_id",
};

/** The same PDU with the names of SMPP 3.4, which npm's codec uses. */
function fieldsOf(pdu: Pdu): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(pdu)) {
    const snake = NPM_NAMES[name] ?? name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    if (value instanceof Map) {
      for (const [tag, octets] of value) fields[NPM_TLVS[tag] ?? String(tag)] = Buffer.from(octets);
    } else if (value instanceof Uint8Array) fields[snake] = Buffer.from(value);
    else if (typeof value === "object") Object.assign(fields, addressFields(name, value as SmppAddress));
    else if (name !== "command") fields[snake] = value;
  }
  return fields;
}

function addressFields(name: string, { ton, npi, address }: SmppAddress): Record<string, unknown> {
  if (name === "serves") return { addr_ton: ton, addr_npi: npi, address_range: address };
  if (name === "esme") return { esme_addr_ton: ton, esme_addr_npi: npi, esme_addr: address };
  if (name === "source") return { source_addr_ton: ton, source_addr_npi: npi, source_addr: address };
  return { dest_addr_ton: ton, dest_addr_npi: npi, destination_addr: address };
}

function tlvs(...entries: [tag: number, digits: string][]): ReadonlyMap<number, Uint8Array> {
  return new Map(entries.map(([tag, digits]) => [tag, bytes(digits)]));
}

function bytes(digits: string): Uint8Array {
  return new Uint8Array(hex(digits));
}

function isPduError(status: number, field?: string): (error: unknown) => boolean {
  return (error) =>
    error instanceof PduError && error.status === status && (field === undefined || error.field === field);
}
