/** The settings of an SMPP instance, with their defaults. Pure. */

import type { CarrierAlphabet } from "../../core/segment.ts";
import type { AddressMarking } from "./address.ts";
import type { LinkSettings } from "./link.ts";
import type { MessageIdBase } from "./message-id.ts";

export interface SmppSettings {
  link: LinkSettings;
  /** How a text goes out that does not fit into one short message. */
  longMessages: "udh" | "sar" | "payload";
  /** Bits of the concatenation reference in the header of parts. */
  udhReferenceBits: 8 | 16;
  /** Whether a text outside GSM-7 may go out as Latin-1 if Latin-1 can encode it. */
  latin1: boolean;
  source: AddressMarking;
  destination: AddressMarking;
  /** Replaces the number as the sender: a short code or a name that the carrier set up. Null: the number. */
  sourceAddress: string | null;
  serviceType: string;
  /** How long the carrier tries to deliver; null: the carrier's default. */
  validitySeconds: number | null;
  messageIdBase: MessageIdBase;
  unflaggedReceipts: boolean;
  /** The alphabet of data_coding 0, in both directions. */
  defaultAlphabet: CarrierAlphabet;
  ia5AsGsm: boolean;
  /** Added to numbers that arrive without a country code; null if none do. */
  defaultCountryCode: string | null;
}

/** The default of Kannel, and of most carriers. */
const WINDOW_SIZE = 10;
const RESPONSE_TIMEOUT_SECONDS = 20;
const ENQUIRE_LINK_SECONDS = 30;

/** Reads a configuration that its schema has validated. A missing value, or one of another type, gets its default. */
export function readSettings(config: Readonly<Record<string, unknown>>): SmppSettings {
  return {
    link: readLink(config),
    longMessages: oneOf(config.longMessages, ["udh", "sar", "payload"]),
    udhReferenceBits: oneOf(config.udhReferenceBits, [8, 16]),
    latin1: config.latin1 === true,
    source: { ton: numberOr(config.sourceTon, null), npi: numberOr(config.sourceNpi, null) },
    destination: { ton: numberOr(config.destinationTon, null), npi: numberOr(config.destinationNpi, null) },
    sourceAddress: textOr(config.sourceAddress, null),
    serviceType: textOr(config.serviceType, ""),
    validitySeconds: numberOr(config.validitySeconds, null),
    messageIdBase: oneOf(config.messageIdBase, ["same", "hexThenDecimal", "decimalThenHex"]),
    unflaggedReceipts: config.unflaggedReceipts === true,
    defaultAlphabet: oneOf(config.defaultAlphabet, ["gsm", "latin1", "ascii"]),
    ia5AsGsm: config.ia5AsGsm === true,
    defaultCountryCode: textOr(config.defaultCountryCode, null),
  };
}

function readLink(config: Readonly<Record<string, unknown>>): LinkSettings {
  const tlsCa = textOr(config.tlsCa, null);
  const tlsServerName = textOr(config.tlsServerName, null);
  return {
    host: textOr(config.host, ""),
    port: numberOr(config.port, 0),
    tls: config.tls === true,
    ...(tlsCa === null ? {} : { tlsCa }),
    ...(tlsServerName === null ? {} : { tlsServerName }),
    systemId: textOr(config.systemId, ""),
    password: textOr(config.password, ""),
    systemType: textOr(config.systemType, ""),
    bindMode: oneOf(config.bindMode, ["transceiver", "pair"]),
    windowSize: numberOr(config.windowSize, WINDOW_SIZE),
    throughputPerSecond: numberOr(config.throughputPerSecond, null),
    responseTimeoutMs: numberOr(config.responseTimeoutSeconds, RESPONSE_TIMEOUT_SECONDS) * 1_000,
    enquireLinkMs: numberOr(config.enquireLinkSeconds, ENQUIRE_LINK_SECONDS) * 1_000,
    addressTon: numberOr(config.addressTon, 0),
    addressNpi: numberOr(config.addressNpi, 0),
    addressRange: textOr(config.addressRange, ""),
  };
}

function textOr<Default>(value: unknown, otherwise: Default): string | Default {
  return typeof value === "string" ? value : otherwise;
}

function numberOr<Default>(value: unknown, otherwise: Default): number | Default {
  return typeof value === "number" ? value : otherwise;
}

/** Returns the first value by default. */
function oneOf<const Value>(value: unknown, values: readonly [Value, ...Value[]]): Value {
  return values.find((candidate) => candidate === value) ?? values[0];
}
