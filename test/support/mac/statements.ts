/** The `where` of a message query: the SQL conditions that are proven to work, and SQLite's errors. */

import type { MessageRow } from "./chat-db.ts";
import { unhandled } from "./envelope.ts";

type Value = string | number | null;
type Args = Readonly<Record<string, unknown>>;

/** Converts epoch milliseconds to Apple's nanoseconds since 2001; null becomes 0. */
function appleNs(at: number | null): number {
  return at === null ? 0 : (at - 978_307_200_000) * 1_000_000;
}

const COLUMNS: Readonly<Record<string, (row: MessageRow) => Value>> = {
  "message.ROWID": (row) => row.rowId,
  "message.guid": (row) => row.guid,
  "message.is_from_me": (row) => Number(row.isFromMe),
  "message.error": (row) => row.error,
  "message.is_sent": (row) => Number(row.isSent),
  "message.is_delivered": (row) => Number(row.isDelivered),
  "message.service": (row) => row.service,
  "message.was_downgraded": (row) => Number(row.wasDowngraded),
  "message.item_type": (row) => row.itemType,
  "message.handle_id": (row) => row.handle?.rowId ?? 0,
  "message.associated_message_guid": (row) => row.associatedMessageGuid,
  "message.balloon_bundle_id": (row) => row.balloonBundleId,
  "message.date": (row) => appleNs(row.dateCreated),
  "message.date_delivered": (row) => appleNs(row.dateDelivered),
  "message.date_read": (row) => appleNs(row.dateRead),
  "message.date_edited": (row) => appleNs(row.dateEdited),
  "chat.chat_identifier": (row) => row.chat.identifier,
  "chat.guid": (row) => row.chat.guid,
};

const COMPARISONS: Readonly<Record<string, (left: Value, right: Value) => boolean>> = {
  "=": (left, right) => left === right,
  "!=": (left, right) => left !== right,
  "<>": (left, right) => left !== right,
  ">": (left, right) => left !== null && right !== null && left > right,
  ">=": (left, right) => left !== null && right !== null && left >= right,
  "<": (left, right) => left !== null && right !== null && left < right,
  "<=": (left, right) => left !== null && right !== null && left <= right,
};

/** Whether a row satisfies every statement. A statement that SQLite refuses throws the server's 500. */
export function conditionOf(where: unknown, withChats: boolean): (row: MessageRow) => boolean {
  if (where === undefined || where === null) return () => true;
  if (!Array.isArray(where)) throw unhandled("where is not iterable");
  const conditions = where.map((item: { statement?: unknown; args?: Args | null }) =>
    parse(String(item.statement), item.args ?? {}, withChats),
  );
  return (row) => conditions.every((holds) => holds(row));
}

type Condition = (row: MessageRow) => boolean;

function parse(statement: string, args: Args, withChats: boolean): Condition {
  const text = statement.trim();
  for (const [word, joins] of [
    [" OR ", "some"],
    [" AND ", "every"],
  ] as const) {
    const parts = split(text, word);
    if (parts.length > 1) {
      const conditions = parts.map((part) => parse(part, args, withChats));
      return (row) => conditions[joins]((holds) => holds(row));
    }
  }
  if (text.startsWith("(") && text.endsWith(")")) return parse(text.slice(1, -1), args, withChats);
  return simple(text, args, withChats);
}

/** Splits at `word` outside of parentheses. */
function split(text: string, word: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let from = 0;
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] === "(") depth += 1;
    if (text[at] === ")") depth -= 1;
    if (depth === 0 && text.slice(at, at + word.length).toUpperCase() === word) {
      parts.push(text.slice(from, at));
      from = at + word.length;
      at = from - 1;
    }
  }
  return [...parts, text.slice(from)];
}

function simple(text: string, args: Args, withChats: boolean): Condition {
  const list = /^(\S+) (NOT )?IN \(:\.\.\.(\w+)\)$/i.exec(text);
  if (list !== null) {
    const [, name = "", not, key = ""] = list;
    const read = column(name, withChats);
    const values = args[key];
    if (!Array.isArray(values)) throw unhandled(`SQLITE_ERROR: near ":": syntax error`);
    return (row) => values.includes(read(row)) === (not === undefined);
  }
  const nothing = /^(\S+) IS (NOT )?NULL$/i.exec(text);
  if (nothing !== null) {
    const read = column(nothing[1] ?? "", withChats);
    return (row) => (read(row) === null) === (nothing[2] === undefined);
  }
  const comparison = /^(\S+) (=|!=|<>|>=|<=|>|<) (?::(\w+)|(-?\d+))$/.exec(text);
  if (comparison === null) throw unhandled(`SQLITE_ERROR: near "${text.split(" ")[1] ?? text}": syntax error`);
  const [, name = "", operator = "", key, literal] = comparison;
  const read = column(name, withChats);
  const compare = COMPARISONS[operator] ?? (() => false);
  const right = key === undefined ? Number(literal) : bound(args[key]);
  return (row) => compare(read(row), right);
}

function bound(value: unknown): Value {
  if (typeof value === "string" || typeof value === "number") return value;
  if (typeof value === "boolean") return Number(value);
  return null;
}

function column(name: string, withChats: boolean): (row: MessageRow) => Value {
  const read = COLUMNS[name];
  if (read === undefined || (name.startsWith("chat.") && !withChats)) throw unhandled(`no such column: ${name}`);
  return read;
}
