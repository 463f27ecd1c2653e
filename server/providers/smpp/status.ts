/** Meanings of command_status in SMPP 3.4 (5.1.3), and what each one says about a refused message. */

/**
 * `permanent`: the SMSC would refuse the message again. `transient`: it may accept the message later. `throttled`: the
 * same, and all other messages should wait too. `bind`: the fault is with the session or the account, not with the
 * message.
 */
export type StatusClass = "ok" | "permanent" | "transient" | "throttled" | "bind";

export interface Status {
  code: number;
  /** The name in SMPP 3.4; for an unknown code, the code. */
  name: string;
  /** A description without a full stop. */
  meaning: string;
  class: StatusClass;
}

/** The statuses of our own responses, and those that other files test for. */
export const ESME_ROK = 0x00;
export const ESME_RINVCMDLEN = 0x02;
export const ESME_RINVCMDID = 0x03;
export const ESME_RX_T_APPN = 0x64;
export const ESME_RINVOPTPARSTREAM = 0xc0;

/** Reserved for vendors (5.1.3). */
const VENDOR_FROM = 0x400;
const VENDOR_TO = 0x4ff;

type StatusRow = readonly [code: number, name: string, meaning: string, kind: StatusClass];

/**
 * Transient statuses are the ones that Kannel and Jasmin treat so, except 0x61: only a scheduled message can get it.
 */
const ROWS: readonly StatusRow[] = [
  [0x00, "ESME_ROK", "no error", "ok"],
  [0x01, "ESME_RINVMSGLEN", "invalid message length", "permanent"],
  [0x02, "ESME_RINVCMDLEN", "invalid command length", "permanent"],
  [0x03, "ESME_RINVCMDID", "the SMSC does not know this command", "permanent"],
  [0x04, "ESME_RINVBNDSTS", "the session is not bound for this command", "bind"],
  [0x05, "ESME_RALYBND", "already bound: the account has no session left", "bind"],
  [0x06, "ESME_RINVPRTFLG", "invalid priority", "permanent"],
  [0x07, "ESME_RINVREGDLVFLG", "invalid request for a receipt", "permanent"],
  [0x08, "ESME_RSYSERR", "system error of the SMSC", "transient"],
  [0x0a, "ESME_RINVSRCADR", "invalid source address", "permanent"],
  [0x0b, "ESME_RINVDSTADR", "invalid destination address", "permanent"],
  [0x0c, "ESME_RINVMSGID", "invalid message id", "permanent"],
  [0x0d, "ESME_RBINDFAIL", "bind failed: mostly a wrong system_id or password", "bind"],
  [0x0e, "ESME_RINVPASWD", "invalid password", "bind"],
  [0x0f, "ESME_RINVSYSID", "invalid system_id", "bind"],
  [0x11, "ESME_RCANCELFAIL", "cancelling failed", "permanent"],
  [0x13, "ESME_RREPLACEFAIL", "replacing failed", "permanent"],
  [0x14, "ESME_RMSGQFUL", "the message queue of the SMSC is full", "transient"],
  [0x15, "ESME_RINVSERTYP", "invalid service_type", "permanent"],
  [0x33, "ESME_RINVNUMDESTS", "invalid number of destinations", "permanent"],
  [0x34, "ESME_RINVDLNAME", "invalid distribution list", "permanent"],
  [0x40, "ESME_RINVDESTFLAG", "invalid destination flag", "permanent"],
  [0x42, "ESME_RINVSUBREP", "replacing at submission is not supported", "permanent"],
  [0x43, "ESME_RINVESMCLASS", "invalid esm_class", "permanent"],
  [0x44, "ESME_RCNTSUBDL", "no submission to a distribution list", "permanent"],
  [0x45, "ESME_RSUBMITFAIL", "the submission failed", "permanent"],
  [0x48, "ESME_RINVSRCTON", "invalid type of number of the source", "permanent"],
  [0x49, "ESME_RINVSRCNPI", "invalid numbering plan of the source", "permanent"],
  [0x50, "ESME_RINVDSTTON", "invalid type of number of the destination", "permanent"],
  [0x51, "ESME_RINVDSTNPI", "invalid numbering plan of the destination", "permanent"],
  [0x53, "ESME_RINVSYSTYP", "invalid system_type", "bind"],
  [0x54, "ESME_RINVREPFLAG", "invalid replace flag", "permanent"],
  [0x55, "ESME_RINVNUMMSGS", "invalid number of messages", "permanent"],
  [0x58, "ESME_RTHROTTLED", "too many messages at once", "throttled"],
  [0x61, "ESME_RINVSCHED", "invalid time of delivery", "permanent"],
  [0x62, "ESME_RINVEXPIRY", "invalid validity period", "permanent"],
  [0x63, "ESME_RINVDFTMSGID", "unknown predefined message", "permanent"],
  [0x64, "ESME_RX_T_APPN", "the receiving application has a temporary error", "transient"],
  [0x65, "ESME_RX_P_APPN", "the receiving application has a permanent error", "permanent"],
  [0x66, "ESME_RX_R_APPN", "the receiving application rejects the message", "permanent"],
  [0x67, "ESME_RQUERYFAIL", "the query failed", "permanent"],
  [0xc0, "ESME_RINVOPTPARSTREAM", "error in the optional part of the PDU", "permanent"],
  [0xc1, "ESME_ROPTPARNOTALLWD", "an optional parameter is not allowed", "permanent"],
  [0xc2, "ESME_RINVPARLEN", "invalid length of a parameter", "permanent"],
  [0xc3, "ESME_RMISSINGOPTPARAM", "an optional parameter is missing", "permanent"],
  [0xc4, "ESME_RINVOPTPARAMVAL", "invalid value of an optional parameter", "permanent"],
  [0xfe, "ESME_RDELIVERYFAILURE", "the delivery failed", "permanent"],
  [0xff, "ESME_RUNKNOWNERR", "unknown error", "permanent"],
];

const BY_CODE: ReadonlyMap<number, Status> = new Map(
  ROWS.map(([code, name, meaning, kind]) => [code, { code, name, meaning, class: kind }]),
);

export const STATUSES: readonly Status[] = [...BY_CODE.values()];

/** Looks up a command_status. An unknown one counts as permanent, as in Kannel. */
export function statusOf(code: number): Status {
  const known = BY_CODE.get(code);
  if (known !== undefined) return known;
  const isVendors = code >= VENDOR_FROM && code <= VENDOR_TO;
  const meaning = isVendors ? "an error of the SMSC's own: ask the carrier" : "an error that SMPP 3.4 does not have";
  return { code, name: hex(code), meaning, class: "permanent" };
}

/** For example: "invalid password (ESME_RINVPASWD 0x0E)". */
export function describeStatus(code: number): string {
  const { name, meaning } = statusOf(code);
  return name === hex(code) ? `${meaning} (${name})` : `${meaning} (${name} ${hex(code)})`;
}

function hex(code: number): string {
  return `0x${code.toString(16).toUpperCase().padStart(2, "0")}`;
}
