/** Decodes Protocol Buffers without a schema: the fields of a record by number. Pure. */

/** Value of a field: a varint, or the bytes of a text, list or record. */
export type Field = bigint | Uint8Array;

/** Maximum fields of a record: payments have a few dozen. */
const FIELDS_MAX = 512;
const VARINT_BYTES_MAX = 10;

/**
 * Returns the fields of a record; the last of several with the same number counts. Returns null if the bytes are malformed.
 * Fixed-width numbers are skipped. Groups, long deprecated, count as malformed.
 */
export function readFields(bytes: Uint8Array): ReadonlyMap<number, Field> | null {
  const fields = new Map<number, Field>();
  let at = 0;
  for (let count = 0; at < bytes.length; count += 1) {
    const tag = varint(bytes, at);
    if (tag === null || tag.value >> 3n === 0n || tag.value > 0xffff_ffffn || count === FIELDS_MAX) return null;
    const number = Number(tag.value >> 3n);
    const read = valueAt(bytes, tag.end, Number(tag.value & 7n));
    if (read === null) return null;
    if (read.value !== null) fields.set(number, read.value);
    at = read.end;
  }
  return fields;
}

function valueAt(bytes: Uint8Array, start: number, wire: number): { value: Field | null; end: number } | null {
  switch (wire) {
    case 0:
      return varint(bytes, start);
    case 1:
      return start + 8 > bytes.length ? null : { value: null, end: start + 8 };
    case 2: {
      const length = varint(bytes, start);
      if (length === null || length.value > BigInt(bytes.length - length.end)) return null;
      const end = length.end + Number(length.value);
      return { value: bytes.subarray(length.end, end), end };
    }
    case 5:
      return start + 4 > bytes.length ? null : { value: null, end: start + 4 };
    default:
      return null;
  }
}

function varint(bytes: Uint8Array, start: number): { value: bigint; end: number } | null {
  let value = 0n;
  for (let index = 0; index < VARINT_BYTES_MAX; index += 1) {
    const byte = bytes[start + index];
    if (byte === undefined) return null;
    value |= BigInt(byte & 0x7f) << BigInt(7 * index);
    if (byte < 0x80) return { value: BigInt.asUintN(64, value), end: start + index + 1 };
  }
  return null;
}
