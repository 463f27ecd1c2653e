/**
 * The bytes of an event as PostgreSQL stores them: what its row has in other columns, and the usual names of members,
 * are each one control character. The envelope is JSON, in which no control character stands for itself. Pure.
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
 * Texts of envelopes, each with its character: a further one gets a character that none has, and none is ever changed,
 * since rows have them. Those before another one that contains them are longer.
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

/** The bytes of a row for an event; those that are no usual envelope stay as they are. */
export function packEnvelope(bytes: string, columns: EnvelopeColumns): string {
  const timestamp = FIRST_TIMESTAMP.exec(bytes)?.[1];
  if (timestamp === undefined || HAS_CONTROL.test(bytes)) return bytes;
  let packed = bytes;
  for (const [value, character] of valuesOf(columns, timestamp))
    if (value.length >= REPLACED_MIN && !HAS_CONTROL.test(value)) packed = packed.replaceAll(value, character);
  for (const [phrase, character] of PHRASES) packed = packed.replaceAll(phrase, character);
  return PACKED + timestamp + packed;
}

/** The bytes of an event by those of its row, which may be as they were created. */
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
 * The values that bytes repeat, each with its character. A message is named by its id without the prefix, which others
 * may repeat.
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
