/**
 * SQL fragments that differ between the dialects of SQLite and PostgreSQL, each with its name here or beside the read that
 * needs it. The compiler of a database picks its dialect, so that a read need not know where it runs. All other SQL of
 * reads means the same in both.
 */

import { type RawBuilder, type RawNode, type SqlBool, sql } from "kysely";

/** A fragment in the dialect of SQLite that also carries that of PostgreSQL. */
interface DialectNode extends RawNode {
  readonly postgres: RawNode;
}

/** A fragment with a text for each dialect. */
export function perDialect<Value>(sqlite: RawBuilder<Value>, postgres: RawBuilder<Value>): RawBuilder<Value> {
  const node: DialectNode = { ...rawNode(sqlite), postgres: rawNode(postgres) };
  return sql<Value>`${{ expressionType: undefined, toOperationNode: () => node }}`;
}

function rawNode(fragment: RawBuilder<unknown>): RawNode {
  return fragment.toOperationNode() as RawNode;
}

/** The fragment in the dialect of PostgreSQL, for its compiler. */
export function inPostgres(node: RawNode): RawNode {
  return "postgres" in node ? (node as DialectNode).postgres : node;
}

/**
 * A column that is checked row by row. A unary plus keeps SQLite from using an index for it. The planner of PostgreSQL
 * has statistics, and no index of ours makes such a check longer than its window.
 */
export function unindexed(column: string): RawBuilder<unknown> {
  const named = sql.ref(column);
  return perDialect<unknown>(sql`+${named}`, named);
}

/**
 * The `id` that orders rows which other columns narrow. Their indexes on PostgreSQL have it in the collation "POSIX",
 * whose order is that of "C", the collation of the primary key: otherwise the planner may walk along the primary key,
 * past the rows of everybody else, if it takes the narrowed rows for many (measured: 160,000 rows for a page of 50).
 */
export function narrowedId(table: string): RawBuilder<string> {
  const id = sql.ref<string>(`${table}.id`);
  return perDialect(id, sql`${id} collate "POSIX"`);
}

/** A query of these texts, to be used after `in`. */
export function valuesOf(values: readonly string[]): RawBuilder<unknown> {
  const list = JSON.stringify(values);
  return perDialect<unknown>(
    sql`(select value from json_each(${list}))`,
    sql`(select value from json_array_elements_text(${list}::json) as given (value))`,
  );
}

/**
 * Control characters, which no JSON has: instead of an escaped backslash, of an escaped quote, and of what is between
 * two items.
 */
const [BACKSLASH, QUOTE, BETWEEN] = ["\u0001", "\u0002", "\u0003"] as const;
/**
 * Replacements after which a JSON list of texts without its first two characters is its items, with `BETWEEN` behind
 * each.
 */
const UNQUOTED = [
  ["\\\\", BACKSLASH],
  ['\\"', QUOTE],
  ['","', BETWEEN],
  ['"]', BETWEEN],
] as const;

/**
 * The items of a JSON list of texts as one text, with `BETWEEN` before, between and after them. No damaged list fails
 * it.
 */
function itemsOf(column: string): RawBuilder<string> {
  const lit = (text: string) => sql.lit<string>(text);
  const items = UNQUOTED.reduce(
    (text, [from, to]) => sql`replace(${text}, ${lit(from)}, ${lit(to)})`,
    sql`substr(${sql.ref(column)}, 3)`,
  );
  return sql`${lit(BETWEEN)} || ${items}`;
}

/** The number of items of a JSON list of texts. */
export function countItems(column: string): RawBuilder<number> {
  const listed = itemsOf(column);
  return sql<number>`length(${listed}) - length(replace(${listed}, ${sql.lit<string>(BETWEEN)}, '')) - 1`;
}

/**
 * Whether a JSON list of texts has this one. Compares texts, so that a damaged list fails no statement. An item may
 * look like the end of one and the beginning of another (`x,` beside `,y` is no `,`), so the quotes of items are
 * replaced first.
 */
export function hasItem(column: string, item: string): RawBuilder<SqlBool> {
  const listed = itemsOf(column);
  const escaped = JSON.stringify(item).slice(1, -1).replaceAll("\\\\", BACKSLASH).replaceAll('\\"', QUOTE);
  return sql<SqlBool>`replace(${listed}, ${BETWEEN + escaped + BETWEEN}, '') <> ${listed}`;
}

/** Whether a column has one of these values, at least one. */
export function isOneOf(column: RawBuilder<unknown>, values: readonly string[]): RawBuilder<SqlBool> {
  const [only] = values;
  return values.length === 1 ? sql<SqlBool>`${column} = ${only}` : sql<SqlBool>`${column} in (${sql.join(values)})`;
}
