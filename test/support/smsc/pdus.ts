/** PDUs for tests: one of each kind with plain values, and arbitrary ones with fast-check. */

import fc from "fast-check";
import type { DataSm, DeliverSm, Pdu, SmppAddress, SubmitSm, Tlvs } from "../../../server/providers/smpp/pdu.ts";

export const NO_TLVS: Tlvs = new Map();

/** A message to a phone: immediate, with a receipt. */
export function submitSm(more: Partial<SubmitSm> = {}): SubmitSm {
  return { command: "submit_sm", ...message("15550000001", "15550100001", "Hi"), registeredDelivery: 1, ...more };
}

/** A message from a phone. */
export function deliverSm(more: Partial<DeliverSm> = {}): DeliverSm {
  return { command: "deliver_sm", ...message("15550100001", "15550000001", "Yo"), ...more };
}

/** The same as a data_sm. */
export function dataSm(more: Partial<DataSm> = {}): DataSm {
  return {
    command: "data_sm",
    sequence: 1,
    serviceType: "",
    source: international("15550100001"),
    destination: international("15550000001"),
    esmClass: 0,
    registeredDelivery: 0,
    dataCoding: 0,
    tlvs: new Map([[0x0424, octets("Yo")]]),
    ...more,
  };
}

/** Plain octets, like the codec's: not a `Buffer`. */
function octets(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text, "latin1"));
}

/** Octets from hexadecimal digits with any spaces. */
export function hex(digits: string): Buffer {
  return Buffer.from(digits.replaceAll(/\s/g, ""), "hex");
}

function international(address: string): SmppAddress {
  return { ton: 1, npi: 1, address };
}

function message(from: string, to: string, text: string): Omit<SubmitSm, "command"> {
  return {
    sequence: 1,
    serviceType: "",
    source: international(from),
    destination: international(to),
    esmClass: 0,
    protocolId: 0,
    priority: 0,
    scheduleDeliveryTime: "",
    validityPeriod: "",
    registeredDelivery: 0,
    replaceIfPresent: 0,
    dataCoding: 0,
    defaultMessageId: 0,
    shortMessage: octets(text),
    tlvs: NO_TLVS,
  };
}

/** The range of generated PDUs. */
export interface Range {
  /** The highest code unit of strings. */
  unitMax: number;
  /** Optional parameters. */
  tlvs: fc.Arbitrary<Tlvs>;
  /** 16 octets or none. */
  time: fc.Arbitrary<string>;
  esmClass: fc.Arbitrary<number>;
  dataCoding: fc.Arbitrary<number>;
}

const uint8 = fc.integer({ min: 0, max: 0xff });
const PLAIN = { noNullPrototype: true };

/** Everything that SMPP 3.4 allows. */
export const ANY: Range = {
  unitMax: 0xff,
  tlvs: fc
    .array(fc.tuple(fc.integer({ min: 0, max: 0xffff }), fc.uint8Array({ maxLength: 40 })), { maxLength: 5 })
    .map((entries) => new Map(entries)),
  time: fc.constantFrom("", "261121142600004+", "000002000000000R"),
  esmClass: uint8,
  dataCoding: uint8,
};

/** Any PDU of the range, of every kind. */
export function anyPdu(range: Range): fc.Arbitrary<Pdu> {
  const text = (octetsMax: number) =>
    fc
      .array(fc.integer({ min: 1, max: range.unitMax }), { maxLength: octetsMax })
      .map((units) => String.fromCharCode(...units));
  const address = (octetsMax: number) => fc.record({ ton: uint8, npi: uint8, address: text(octetsMax) }, PLAIN);
  const sequence = fc.integer({ min: 0, max: 0xffff_ffff });
  const { tlvs, time, esmClass, dataCoding } = range;
  const bind = {
    sequence,
    systemId: text(15),
    password: text(8),
    systemType: text(12),
    interfaceVersion: uint8,
    serves: address(40),
  };
  const messageFields = {
    sequence,
    serviceType: text(5),
    source: address(20),
    destination: address(20),
    esmClass,
    protocolId: uint8,
    priority: uint8,
    scheduleDeliveryTime: time,
    validityPeriod: time,
    registeredDelivery: uint8,
    replaceIfPresent: uint8,
    dataCoding,
    defaultMessageId: uint8,
    shortMessage: fc.uint8Array({ maxLength: 254 }),
    tlvs,
  };
  const ok = { sequence, status: fc.constant(0) };
  const failed = { sequence, status: fc.integer({ min: 1, max: 0xffff_ffff }) };
  const empty = { messageId: fc.constant(""), tlvs: fc.constant(NO_TLVS) };
  const taken = { ...ok, messageId: text(64), tlvs };
  const kind = <Name extends Pdu["command"], Rest extends object>(
    command: Name,
    rest: { [Key in keyof Rest]: fc.Arbitrary<Rest[Key]> },
  ) => fc.record({ command: fc.constant(command), ...rest }, PLAIN) as unknown as fc.Arbitrary<Pdu>;
  return fc.oneof(
    ...(["bind_transceiver", "bind_transmitter", "bind_receiver"] as const).flatMap((command) => [
      kind(command, bind),
      kind(`${command}_resp`, { ...ok, systemId: text(15), tlvs }),
      kind(`${command}_resp`, { ...failed, systemId: fc.constant(""), tlvs: empty.tlvs }),
    ]),
    kind("outbind", { sequence, systemId: bind.systemId, password: bind.password }),
    kind("submit_sm", messageFields),
    kind("deliver_sm", messageFields),
    kind("data_sm", {
      sequence,
      serviceType: text(5),
      source: address(64),
      destination: address(64),
      esmClass,
      registeredDelivery: uint8,
      dataCoding,
      tlvs,
    }),
    ...(["submit_sm_resp", "deliver_sm_resp", "data_sm_resp"] as const).map((command) => kind(command, taken)),
    kind("submit_sm_resp", { ...failed, ...empty }),
    kind("query_sm", { sequence, messageId: text(64), source: address(20) }),
    kind("query_sm_resp", { ...ok, messageId: text(64), finalDate: time, messageState: uint8, errorCode: uint8 }),
    kind("cancel_sm", {
      sequence,
      serviceType: text(5),
      messageId: text(64),
      source: address(20),
      destination: address(20),
    }),
    kind("alert_notification", { sequence, source: address(64), esme: address(64), tlvs }),
    ...(["generic_nack", "unbind_resp", "enquire_link_resp", "cancel_sm_resp"] as const).flatMap((command) => [
      kind(command, ok),
      kind(command, failed),
    ]),
    kind("unbind", { sequence }),
    kind("enquire_link", { sequence }),
  );
}
