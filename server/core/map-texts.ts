/** Changes the texts in a value. Pure. */

/**
 * `value` with `change` applied to every string in it, in nested objects and lists too. A value without a changed string is returned itself,
 * and so are bytes.
 */
export function mapTexts<Value>(value: Value, change: (text: string) => string): Value {
  if (typeof value === "string") return change(value) as Value;
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return value;
  if (Array.isArray(value)) {
    const kept = value.map((one) => mapTexts(one, change));
    return (kept.some((one, index) => one !== value[index]) ? kept : value) as Value;
  }
  const entries = Object.entries(value).map(([name, inner]) => [name, inner, mapTexts(inner, change)] as const);
  const changed = entries.filter(([, inner, mapped]) => mapped !== inner).map(([name, , mapped]) => [name, mapped]);
  return changed.length === 0 ? value : { ...value, ...Object.fromEntries(changed) };
}
