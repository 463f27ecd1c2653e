/** SMPP 3.4 PDUs as types, with the fields of chapter 4. */

/** Optional parameters by tag (SMPP 3.4, 5.3.2). A repeated parameter keeps its first value. */
export type Tlvs = ReadonlyMap<number, Uint8Array>;

/** An address with its type of number (5.2.5) and numbering plan (5.2.6). */
export interface SmppAddress {
  ton: number;
  npi: number;
  /** At most 20 octets in submit_sm and deliver_sm, 64 in data_sm and alert_notification; one octet per code unit. */
  address: string;
}

interface RequestFields {
  /** A response has the number of its request. */
  sequence: number;
}

interface ResponseFields {
  sequence: number;
  /** command_status (5.1.3): 0 is ESME_ROK. */
  status: number;
}

interface BindFields extends RequestFields {
  systemId: string;
  password: string;
  systemType: string;
  /** 0x34 means 3.4. */
  interfaceVersion: number;
  /** The addresses that this receiver serves. `address` is a range (5.2.7) of at most 40 octets. */
  serves: SmppAddress;
}

interface BindRespFields extends ResponseFields {
  systemId: string;
  tlvs: Tlvs;
}

/** 4.1.1 */
export interface BindTransmitter extends BindFields {
  command: "bind_transmitter";
}

/** 4.1.2 */
export interface BindTransmitterResp extends BindRespFields {
  command: "bind_transmitter_resp";
}

/** 4.1.3 */
export interface BindReceiver extends BindFields {
  command: "bind_receiver";
}

/** 4.1.4 */
export interface BindReceiverResp extends BindRespFields {
  command: "bind_receiver_resp";
}

/** 4.1.5 */
export interface BindTransceiver extends BindFields {
  command: "bind_transceiver";
}

/** 4.1.6 */
export interface BindTransceiverResp extends BindRespFields {
  command: "bind_transceiver_resp";
}

/** 4.1.7 */
export interface Outbind extends RequestFields {
  command: "outbind";
  systemId: string;
  password: string;
}

/** 4.2.1 */
export interface Unbind extends RequestFields {
  command: "unbind";
}

/** 4.2.2 */
export interface UnbindResp extends ResponseFields {
  command: "unbind_resp";
}

/** 4.3.1 */
export interface GenericNack extends ResponseFields {
  command: "generic_nack";
}

/** Read from the SMSC and never written: octets at the end of the PDU are no optional parameter, and were ignored. */
interface UnreadRest {
  hasUnreadRest?: true;
}

interface MessageFields extends RequestFields {
  serviceType: string;
  source: SmppAddress;
  destination: SmppAddress;
  esmClass: number;
  protocolId: number;
  priority: number;
  /** Empty: immediately. Otherwise 16 octets (7.1.1). */
  scheduleDeliveryTime: string;
  /** Empty: the SMSC's default. Otherwise 16 octets (7.1.1). */
  validityPeriod: string;
  registeredDelivery: number;
  replaceIfPresent: number;
  dataCoding: number;
  defaultMessageId: number;
  /** At most 254 octets, including a user data header. */
  shortMessage: Uint8Array;
  tlvs: Tlvs;
}

/** 4.4.1 */
export interface SubmitSm extends MessageFields {
  command: "submit_sm";
}

/** 4.4.2 */
export interface SubmitSmResp extends ResponseFields {
  command: "submit_sm_resp";
  messageId: string;
  tlvs: Tlvs;
}

/** 4.6.1 */
export interface DeliverSm extends MessageFields, UnreadRest {
  command: "deliver_sm";
  /** Read from the SMSC and never written: the length of the text counts a NUL that is not there. */
  hasUnsentEnd?: true;
}

/** 4.6.2 */
export interface DeliverSmResp extends ResponseFields {
  command: "deliver_sm_resp";
  messageId: string;
  tlvs: Tlvs;
}

/** 4.7.1 */
export interface DataSm extends RequestFields, UnreadRest {
  command: "data_sm";
  serviceType: string;
  source: SmppAddress;
  destination: SmppAddress;
  esmClass: number;
  registeredDelivery: number;
  dataCoding: number;
  /** The text is in message_payload (0x0424). */
  tlvs: Tlvs;
}

/** 4.7.2 */
export interface DataSmResp extends ResponseFields {
  command: "data_sm_resp";
  messageId: string;
  tlvs: Tlvs;
}

/** 4.8.1 */
export interface QuerySm extends RequestFields {
  command: "query_sm";
  messageId: string;
  source: SmppAddress;
}

/** 4.8.2 */
export interface QuerySmResp extends ResponseFields {
  command: "query_sm_resp";
  messageId: string;
  /** Empty until the message is in a final state. Then 16 octets (7.1.1). */
  finalDate: string;
  messageState: number;
  errorCode: number;
}

/** 4.9.1 */
export interface CancelSm extends RequestFields {
  command: "cancel_sm";
  serviceType: string;
  messageId: string;
  source: SmppAddress;
  destination: SmppAddress;
}

/** 4.9.2 */
export interface CancelSmResp extends ResponseFields {
  command: "cancel_sm_resp";
}

/** 4.11.1 */
export interface EnquireLink extends RequestFields {
  command: "enquire_link";
}

/** 4.11.2 */
export interface EnquireLinkResp extends ResponseFields {
  command: "enquire_link_resp";
}

/** 4.12.1. Has no response. */
export interface AlertNotification extends RequestFields {
  command: "alert_notification";
  source: SmppAddress;
  esme: SmppAddress;
  tlvs: Tlvs;
}

export type Bind = BindTransmitter | BindReceiver | BindTransceiver;
export type BindResp = BindTransmitterResp | BindReceiverResp | BindTransceiverResp;

/** The supported PDUs. submit_multi and replace_sm are left out: no SMSC sends them, and this service sends none. */
export type Pdu =
  | Bind
  | BindResp
  | Outbind
  | Unbind
  | UnbindResp
  | GenericNack
  | SubmitSm
  | SubmitSmResp
  | DeliverSm
  | DeliverSmResp
  | DataSm
  | DataSmResp
  | QuerySm
  | QuerySmResp
  | CancelSm
  | CancelSmResp
  | EnquireLink
  | EnquireLinkResp
  | AlertNotification;

export type CommandName = Pdu["command"];
