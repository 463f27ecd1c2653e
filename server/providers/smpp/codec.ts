/** Encodes and decodes PDUs: the layouts of SMPP 3.4, chapter 4, with their limits. */

import { HEAD_OCTETS, PduError, Reader, TLV_HEAD_OCTETS, Writer } from "./octets.ts";
import { MESSAGE_PAYLOAD, RECEIPTED_MESSAGE_ID } from "./optional-parameters.ts";
import type {
  Bind,
  BindResp,
  CommandName,
  DataSm,
  DataSmResp,
  DeliverSm,
  DeliverSmResp,
  Pdu,
  QuerySmResp,
  SmppAddress,
  SubmitSm,
  SubmitSmResp,
  Tlvs,
} from "./pdu.ts";
import { ESME_RINVCMDID, ESME_RINVOPTPARSTREAM } from "./status.ts";
import { lacksNul } from "./user-data.ts";

/** The header of a frame (SMPP 3.4, 3.2), readable even if the body is not. */
export interface PduHeader {
  commandId: number;
  status: number;
  sequence: number;
}

/** Set in the command_id of responses (5.1.2.1). */
const RESPONSE_BIT = 0x8000_0000;

/** Lengths of strings in octets, without the NUL (chapter 4). */
const SERVICE_TYPE_MAX = 5;
const ADDRESS_MAX = 20;
const LONG_ADDRESS_MAX = 64;
const ADDRESS_RANGE_MAX = 40;
const TIME_MAX = 16;
const MESSAGE_ID_MAX = 64;
const SHORT_MESSAGE_MAX = 254;
/**
 * More than the 15, 8 and 12 of 4.1: some carriers issue longer ones, and an SMSC that keeps the limit refuses the
 * bind.
 */
const CREDENTIAL_MAX = 64;

/** The names of an address's fields in SMPP 3.4. */
interface AddressFields {
  ton: string;
  npi: string;
  address: string;
}

const SOURCE: AddressFields = { ton: "source_addr_ton", npi: "source_addr_npi", address: "source_addr" };
const DESTINATION: AddressFields = { ton: "dest_addr_ton", npi: "dest_addr_npi", address: "destination_addr" };
const ESME: AddressFields = { ton: "esme_addr_ton", npi: "esme_addr_npi", address: "esme_addr" };
const SERVES: AddressFields = { ton: "addr_ton", npi: "addr_npi", address: "address_range" };

/** The layout of one command. */
interface Layout<Kind extends Pdu> {
  id: number;
  write(to: Writer, pdu: Kind): void;
  read(from: Reader, head: PduHeader): Kind;
}

type KindOf<Name extends CommandName> = Extract<Pdu, { command: Name }>;

const LAYOUTS: { readonly [Name in CommandName]: Layout<KindOf<Name>> } = {
  generic_nack: bare(0x8000_0000, ({ status, sequence }) => ({ command: "generic_nack", status, sequence })),
  bind_receiver: {
    id: 0x01,
    write: writeBind,
    read: (from, head) => ({ command: "bind_receiver", ...readBind(from, head) }),
  },
  bind_receiver_resp: {
    id: 0x8000_0001,
    write: writeBindResp,
    read: (from, head) => ({ command: "bind_receiver_resp", ...readBindResp(from, head) }),
  },
  bind_transmitter: {
    id: 0x02,
    write: writeBind,
    read: (from, head) => ({ command: "bind_transmitter", ...readBind(from, head) }),
  },
  bind_transmitter_resp: {
    id: 0x8000_0002,
    write: writeBindResp,
    read: (from, head) => ({ command: "bind_transmitter_resp", ...readBindResp(from, head) }),
  },
  query_sm: {
    id: 0x03,
    write(to, pdu) {
      to.text("message_id", pdu.messageId, MESSAGE_ID_MAX);
      writeAddress(to, SOURCE, pdu.source, ADDRESS_MAX);
    },
    read: (from, { sequence }) => ({
      command: "query_sm",
      sequence,
      messageId: from.text("message_id"),
      source: readAddress(from, SOURCE),
    }),
  },
  query_sm_resp: { id: 0x8000_0003, write: writeQueryResp, read: readQueryResp },
  submit_sm: {
    id: 0x04,
    write: writeMessage,
    read: (from, { sequence }) => ({ command: "submit_sm", sequence, ...readMessage(from) }),
  },
  submit_sm_resp: {
    id: 0x8000_0004,
    write(to, pdu) {
      // 4.4.2: no body if the status is an error.
      if (pdu.status === 0 || pdu.messageId !== "" || pdu.tlvs.size > 0) writeTaken(to, pdu);
    },
    read: (from, head) => ({ command: "submit_sm_resp", ...readTaken(from, head) }),
  },
  deliver_sm: {
    id: 0x05,
    write: writeMessage,
    read: readDeliver,
  },
  deliver_sm_resp: {
    id: 0x8000_0005,
    write: writeTaken,
    read: (from, head) => ({ command: "deliver_sm_resp", ...readTaken(from, head) }),
  },
  unbind: bare(0x06, ({ sequence }) => ({ command: "unbind", sequence })),
  unbind_resp: bare(0x8000_0006, ({ status, sequence }) => ({ command: "unbind_resp", status, sequence })),
  cancel_sm: {
    id: 0x08,
    write(to, pdu) {
      to.text("service_type", pdu.serviceType, SERVICE_TYPE_MAX);
      to.text("message_id", pdu.messageId, MESSAGE_ID_MAX);
      writeAddress(to, SOURCE, pdu.source, ADDRESS_MAX);
      writeAddress(to, DESTINATION, pdu.destination, ADDRESS_MAX);
    },
    read: (from, { sequence }) => ({
      command: "cancel_sm",
      sequence,
      serviceType: from.text("service_type"),
      messageId: from.text("message_id"),
      source: readAddress(from, SOURCE),
      destination: readAddress(from, DESTINATION),
    }),
  },
  cancel_sm_resp: bare(0x8000_0008, ({ status, sequence }) => ({ command: "cancel_sm_resp", status, sequence })),
  bind_transceiver: {
    id: 0x09,
    write: writeBind,
    read: (from, head) => ({ command: "bind_transceiver", ...readBind(from, head) }),
  },
  bind_transceiver_resp: {
    id: 0x8000_0009,
    write: writeBindResp,
    read: (from, head) => ({ command: "bind_transceiver_resp", ...readBindResp(from, head) }),
  },
  outbind: {
    id: 0x0b,
    write(to, pdu) {
      to.text("system_id", pdu.systemId, CREDENTIAL_MAX);
      to.text("password", pdu.password, CREDENTIAL_MAX);
    },
    read: (from, { sequence }) => ({
      command: "outbind",
      sequence,
      systemId: from.text("system_id"),
      password: from.text("password"),
    }),
  },
  enquire_link: bare(0x15, ({ sequence }) => ({ command: "enquire_link", sequence })),
  enquire_link_resp: bare(0x8000_0015, ({ status, sequence }) => ({ command: "enquire_link_resp", status, sequence })),
  alert_notification: {
    id: 0x102,
    write(to, pdu) {
      writeAddress(to, SOURCE, pdu.source, LONG_ADDRESS_MAX);
      writeAddress(to, ESME, pdu.esme, LONG_ADDRESS_MAX);
      to.tlvs(pdu.tlvs);
    },
    read: (from, { sequence }) => ({
      command: "alert_notification",
      sequence,
      source: readAddress(from, SOURCE),
      esme: readAddress(from, ESME),
      tlvs: from.tlvs(),
    }),
  },
  data_sm: { id: 0x103, write: writeData, read: readData },
  data_sm_resp: {
    id: 0x8000_0103,
    write: writeTaken,
    read: (from, head): DataSmResp => ({ command: "data_sm_resp", ...readTaken(from, head) }),
  },
};

const BY_ID: ReadonlyMap<number, Layout<Pdu>> = new Map(
  Object.values(LAYOUTS).map((layout: Layout<Pdu>) => [layout.id, layout]),
);

/** Encodes a PDU. Throws `PduError` for a value that does not fit its field: nothing is truncated or replaced. */
export function encodePdu(pdu: Pdu): Buffer {
  const layout: Layout<Pdu> = LAYOUTS[pdu.command];
  const writer = new Writer();
  layout.write(writer, pdu);
  return writer.finish(layout.id, "status" in pdu ? pdu.status : 0, pdu.sequence);
}

/**
 * Decodes a whole frame. Throws `PduError`, with the command_status for the response, for an unknown command and for a
 * request without its mandatory fields. Fields missing from a response are empty. Octets at the end that are no
 * optional parameter are ignored; a message from the SMSC says so in `hasUnreadRest`, and is refused if its text may be
 * among them. It may count a NUL at the end of its text that is not there, and then says so in `hasUnsentEnd`.
 */
export function decodePdu(frame: Buffer): Pdu {
  if (frame.length < HEAD_OCTETS || frame.readUInt32BE(0) !== frame.length) {
    throw new PduError("command_length", `is not that of a frame of ${frame.length} octets`);
  }
  const head = headerOf(frame);
  const layout = BY_ID.get(head.commandId);
  if (layout === undefined) throw new PduError("command_id", "is not supported", ESME_RINVCMDID);
  return layout.read(new Reader(frame, !isResponse(head.commandId)), head);
}

/** Reads the header of a frame of at least 16 octets, whatever its body is. */
export function headerOf(frame: Buffer): PduHeader {
  return { commandId: frame.readUInt32BE(4), status: frame.readUInt32BE(8), sequence: frame.readUInt32BE(12) };
}

/** Whether a command is a response, which never gets a response itself. */
export function isResponse(commandId: number): boolean {
  return commandId >= RESPONSE_BIT;
}

/** Whether a command carries a text or a receipt: deliver_sm and data_sm. */
export function isMessage(commandId: number): boolean {
  return commandId === LAYOUTS.deliver_sm.id || commandId === LAYOUTS.data_sm.id;
}

/** The error response to a request whose body cannot be read. */
export function errorResponseTo({ commandId, sequence }: PduHeader, status: number): Pdu {
  const taken = { status, sequence, messageId: "", tlvs: new Map<number, Uint8Array>() };
  if (commandId === LAYOUTS.deliver_sm.id) return { command: "deliver_sm_resp", ...taken };
  if (commandId === LAYOUTS.data_sm.id) return { command: "data_sm_resp", ...taken };
  return { command: "generic_nack", status, sequence };
}

/** A command without a body. */
function bare<Kind extends Pdu>(id: number, read: (head: PduHeader) => Kind): Layout<Kind> {
  return { id, write() {}, read: (_from, head) => read(head) };
}

function writeAddress(to: Writer, fields: AddressFields, address: SmppAddress, octetsMax: number): void {
  to.uint8(fields.ton, address.ton);
  to.uint8(fields.npi, address.npi);
  to.text(fields.address, address.address, octetsMax);
}

function readAddress(from: Reader, fields: AddressFields): SmppAddress {
  return { ton: from.uint8(fields.ton), npi: from.uint8(fields.npi), address: from.text(fields.address) };
}

function writeBind(to: Writer, pdu: Bind): void {
  to.text("system_id", pdu.systemId, CREDENTIAL_MAX);
  to.text("password", pdu.password, CREDENTIAL_MAX);
  to.text("system_type", pdu.systemType, CREDENTIAL_MAX);
  to.uint8("interface_version", pdu.interfaceVersion);
  writeAddress(to, SERVES, pdu.serves, ADDRESS_RANGE_MAX);
}

function readBind(from: Reader, { sequence }: PduHeader): Omit<Bind, "command"> {
  return {
    sequence,
    systemId: from.text("system_id"),
    password: from.text("password"),
    systemType: from.text("system_type"),
    interfaceVersion: from.uint8("interface_version"),
    serves: readAddress(from, SERVES),
  };
}

function writeBindResp(to: Writer, pdu: BindResp): void {
  // 4.1.2: no body if the status is an error.
  if (pdu.status !== 0 && pdu.systemId === "" && pdu.tlvs.size === 0) return;
  to.text("system_id", pdu.systemId, CREDENTIAL_MAX);
  to.tlvs(pdu.tlvs);
}

function readBindResp(from: Reader, { status, sequence }: PduHeader): Omit<BindResp, "command"> {
  return { status, sequence, systemId: from.text("system_id"), tlvs: from.tlvs() };
}

function writeMessage(to: Writer, pdu: SubmitSm | DeliverSm): void {
  to.text("service_type", pdu.serviceType, SERVICE_TYPE_MAX);
  writeAddress(to, SOURCE, pdu.source, ADDRESS_MAX);
  writeAddress(to, DESTINATION, pdu.destination, ADDRESS_MAX);
  to.uint8("esm_class", pdu.esmClass);
  to.uint8("protocol_id", pdu.protocolId);
  to.uint8("priority_flag", pdu.priority);
  to.text("schedule_delivery_time", pdu.scheduleDeliveryTime, TIME_MAX);
  to.text("validity_period", pdu.validityPeriod, TIME_MAX);
  to.uint8("registered_delivery", pdu.registeredDelivery);
  to.uint8("replace_if_present_flag", pdu.replaceIfPresent);
  to.uint8("data_coding", pdu.dataCoding);
  to.uint8("sm_default_msg_id", pdu.defaultMessageId);
  to.counted("short_message", pdu.shortMessage, SHORT_MESSAGE_MAX);
  to.tlvs(pdu.tlvs);
}

function readMessage(from: Reader, isOfSmsc = false): Omit<SubmitSm, "command" | "sequence"> {
  const fields = {
    serviceType: from.text("service_type"),
    source: readAddress(from, SOURCE),
    destination: readAddress(from, DESTINATION),
    esmClass: from.uint8("esm_class"),
    protocolId: from.uint8("protocol_id"),
    priority: from.uint8("priority_flag"),
    scheduleDeliveryTime: from.text("schedule_delivery_time"),
    validityPeriod: from.text("validity_period"),
    registeredDelivery: from.uint8("registered_delivery"),
    replaceIfPresent: from.uint8("replace_if_present_flag"),
    dataCoding: from.uint8("data_coding"),
    defaultMessageId: from.uint8("sm_default_msg_id"),
  };
  const { esmClass, dataCoding } = fields;
  const mayLack = (octets: Uint8Array, lacks: number) => isOfSmsc && lacksNul({ esmClass, dataCoding, octets }, lacks);
  return { ...fields, shortMessage: from.counted("short_message", mayLack), tlvs: from.tlvs() };
}

function readDeliver(from: Reader, { sequence }: PduHeader): DeliverSm {
  const message = readMessage(from, true);
  const end: Pick<DeliverSm, "hasUnsentEnd"> = from.hasUnsentEnd ? { hasUnsentEnd: true } : {};
  const rest = restOf(from, message.shortMessage, message.tlvs);
  return { command: "deliver_sm", sequence, ...message, ...end, ...rest };
}

/**
 * Whether octets at the end of a message are no optional parameter. Throws `PduError` if the message has neither a text
 * nor the id of a receipt: `message_payload` may be among those octets, unless they are too few for any parameter.
 */
function restOf(from: Reader, shortMessage: Uint8Array, tlvs: Tlvs): Pick<DeliverSm, "hasUnreadRest"> {
  if (from.unreadRest === 0) return {};
  const hasContent = shortMessage.length > 0 || tlvs.has(MESSAGE_PAYLOAD) || tlvs.has(RECEIPTED_MESSAGE_ID);
  if (hasContent || from.unreadRest < TLV_HEAD_OCTETS) return { hasUnreadRest: true };
  throw new PduError("optional parameters", "are truncated", ESME_RINVOPTPARSTREAM);
}

function writeTaken(to: Writer, pdu: SubmitSmResp | DeliverSmResp | DataSmResp): void {
  to.text("message_id", pdu.messageId, MESSAGE_ID_MAX);
  to.tlvs(pdu.tlvs);
}

function readTaken(from: Reader, { status, sequence }: PduHeader): Omit<SubmitSmResp, "command"> {
  return { status, sequence, messageId: from.text("message_id"), tlvs: from.tlvs() };
}

function writeData(to: Writer, pdu: DataSm): void {
  to.text("service_type", pdu.serviceType, SERVICE_TYPE_MAX);
  writeAddress(to, SOURCE, pdu.source, LONG_ADDRESS_MAX);
  writeAddress(to, DESTINATION, pdu.destination, LONG_ADDRESS_MAX);
  to.uint8("esm_class", pdu.esmClass);
  to.uint8("registered_delivery", pdu.registeredDelivery);
  to.uint8("data_coding", pdu.dataCoding);
  to.tlvs(pdu.tlvs);
}

function readData(from: Reader, { sequence }: PduHeader): DataSm {
  const message: DataSm = {
    command: "data_sm",
    sequence,
    serviceType: from.text("service_type"),
    source: readAddress(from, SOURCE),
    destination: readAddress(from, DESTINATION),
    esmClass: from.uint8("esm_class"),
    registeredDelivery: from.uint8("registered_delivery"),
    dataCoding: from.uint8("data_coding"),
    tlvs: from.tlvs(),
  };
  return { ...message, ...restOf(from, new Uint8Array(), message.tlvs) };
}

function writeQueryResp(to: Writer, pdu: QuerySmResp): void {
  to.text("message_id", pdu.messageId, MESSAGE_ID_MAX);
  to.text("final_date", pdu.finalDate, TIME_MAX);
  to.uint8("message_state", pdu.messageState);
  to.uint8("error_code", pdu.errorCode);
}

function readQueryResp(from: Reader, { status, sequence }: PduHeader): QuerySmResp {
  return {
    command: "query_sm_resp",
    status,
    sequence,
    messageId: from.text("message_id"),
    finalDate: from.text("final_date"),
    messageState: from.uint8("message_state"),
    errorCode: from.uint8("error_code"),
  };
}
