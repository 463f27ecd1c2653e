/**
 * The bytes of an event as PostgreSQL stores them. One control character replaces each value that the row has in
 * another column, and each usual text of an envelope. The envelope is JSON, which never contains a control character.
 * Pure.
 */

/** The columns of an event that its bytes repeat. */
export type EnvelopeColumns = { [Property in "id" | "type" | "correlationId"]: string } & { messageId: string | null };

/** Begins packed bytes, and says how they are packed. The first timestamp of the envelope follows. */
const PACKED = "\u0001";
const TIMESTAMP_LENGTH = "2026-01-01T00:00:00.000Z".length;
const FIRST_TIMESTAMP = /"timestamp":"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)"/;
/** Shorter values are not replaced. */
const REPLACED_MIN = 4;

const [ID, TYPE, MESSAGE, CORRELATION, TIMESTAMP] = ["\u0002", "\u0003", "\u0004", "\u0005", "\u0006"] as const;

/**
 * Usual texts of envelopes, each with its character. A new text gets an unused character, and no text ever changes,
 * since rows contain the characters. A text comes before any shorter text that it contains.
 */
const PHRASES: readonly (readonly [phrase: string, character: string])[] = [
  [`{"id":"${ID}","type":"${TYPE}","timestamp":"${TIMESTAMP}","data":{"messageId":"msg_${MESSAGE}"`, "\u0007"],
  [`{"id":"${ID}","type":"${TYPE}","timestamp":"${TIMESTAMP}","data":{`, "\u0008"],
  [`,"correlationId":"${CORRELATION}"`, "\u0009"],
  [`,"externalMessageId":"`, "\u000a"],
  [`,"providerMessageId":"`, "\u000b"],
  [`,"channel":"imessage"`, "\u000c"],
  [`,"channel":"sms"`, "\u000d"],
  [`,"from":"+`, "\u000e"],
  [`,"to":"+`, "\u000f"],
  [`,"text":"`, "\u0010"],
  [`,"metadata":{"`, "\u0011"],
  [`,"status":"`, "\u0012"],
  [`,"sequence":`, "\u0013"],
  [`,"sentAt":"`, "\u0014"],
  [`,"deliveredAt":"`, "\u0015"],
  [`,"messageId":"msg_${MESSAGE}"`, "\u0016"],
];

const PHRASE_OF: ReadonlyMap<string, string> = new Map(PHRASES.map(([phrase, character]) => [character, phrase]));
const CONTROLS = `[${String.fromCodePoint(0)}-${String.fromCodePoint(31)}]`;
const HAS_CONTROL = new RegExp(CONTROLS);
const EACH_CONTROL = new RegExp(CONTROLS, "g");

/** Packs the bytes of an event for its row. Bytes that are no usual envelope stay as they are. */
export function packEnvelope(bytes: string, columns: EnvelopeColumns): string {
  const timestamp = FIRST_TIMESTAMP.exec(bytes)?.[1];
  if (timestamp === undefined || HAS_CONTROL.test(bytes)) return bytes;
  let packed = bytes;
  for (const [value, character] of valuesOf(columns, timestamp))
    if (value.length >= REPLACED_MIN && !HAS_CONTROL.test(value)) packed = packed.replaceAll(value, character);
  for (const [phrase, character] of PHRASES) packed = packed.replaceAll(phrase, character);
  return PACKED + timestamp + packed;
}

/** Unpacks the bytes of an event from its row. Bytes that are not packed stay as they are. */
export function unpackEnvelope(stored: string, columns: EnvelopeColumns): string {
  if (!stored.startsWith(PACKED)) return stored;
  const timestamp = stored.slice(PACKED.length, PACKED.length + TIMESTAMP_LENGTH);
  const values = new Map<string, string>(valuesOf(columns, timestamp).map(([value, character]) => [character, value]));
  const packed = stored.slice(PACKED.length + TIMESTAMP_LENGTH);
  return replaceEach(replaceEach(packed, PHRASE_OF), values);
}

function replaceEach(packed: string, texts: ReadonlyMap<string, string>): string {
  return packed.replace(EACH_CONTROL, (character) => texts.get(character) ?? character);
}

/**
 * The values that the bytes repeat, each with its character. A message's id is without its prefix, since other texts
 * may repeat it.
 */
function valuesOf({ id, type, messageId, correlationId }: EnvelopeColumns, timestamp: string) {
  return [
    [id, ID],
    [type, TYPE],
    [messageId?.slice("msg_".length) ?? "", MESSAGE],
    [correlationId, CORRELATION],
    [timestamp, TIMESTAMP],
  ] as const;
}
