/**
 * Writes the statements that check the transactions of a group before anything is changed. The statements lock the rows whose
 * versions are required table by table, in the order of their ids, so that the checks of two processes never wait in a circle. Pure.
 */

import { phoneKey } from "../../core/phone-forms.ts";
import type { EncodedOperation } from "../jobs/jobs.ts";
import type { TableName } from "../records.ts";
import { columnOf, type SqlValue } from "../rows.ts";
import { TABLES } from "../tables.ts";
import { columnValue, type InputColumn, inputColumn, jsonRows, numberColumn, recordset } from "./json-rows.ts";
import { isLeasedPair } from "./message-leases.ts";
import { isBetween, isListed, listOfIds, propertiesOf, rankOf } from "./shapes.ts";
import type { SqlStatement } from "./sql.ts";
import { named, uniqueProperties, uniqueValues } from "./touched-keys.ts";

/** The answers to the checks of a group. */
export interface Findings {
  /** The versions of records, by `named`. A record that is not there has none. */
  versions: Map<string, number>;
  /** Operations that ask for records (`insertUnique`, `require`, `requireNone`) and have found one. */
  found: Set<EncodedOperation>;
  /** Operations whose requirement about a lease does not hold. */
  unmet: Set<EncodedOperation>;
}

/** A statement of the checks. `note` adds what its rows say to the findings. */
export interface Check extends SqlStatement {
  note(rows: readonly SqlValue[][], findings: Findings): void;
}

/** The checks of some operations, in the order in which they lock rows. */
export function checksOf(operations: readonly EncodedOperation[]): Check[] {
  return [
    ...epochChecks(operations),
    ...versionChecks(operations),
    ...recordChecks(operations),
    ...pairChecks(operations),
  ];
}

/** Asks for the epochs of leases of members, and holds them. */
function epochChecks(operations: readonly EncodedOperation[]): Check[] {
  const required = operations.filter((one) => one[0] === "requireEpoch");
  if (required.length === 0) return [];
  return [
    {
      text: "select lease, epoch from member_leases where lease = any($1::text[]) order by lease for share",
      parameters: [[...new Set(required.map(([, lease]) => lease))]],
      note(rows, { unmet }) {
        const epochs = new Map(rows.map(([lease, epoch]) => [lease, epoch]));
        for (const one of required) if (epochs.get(one[1]) !== one[2]) unmet.add(one);
      },
    },
  ];
}

/** Locks the records whose versions are required, and asks for their versions: one statement a table. */
function versionChecks(operations: readonly EncodedOperation[]): Check[] {
  const updates = operations.filter((one) => one[0] === "update");
  const byTable = Map.groupBy(updates, ([, table]) => table);
  const tables = [...byTable].sort(([a], [b]) => rankOf(a) - rankOf(b));
  return tables.map(([table, own]) => {
    const ids = own.map(([, , , , id]) => id);
    const isOne = `${isListed("id", "text", 1)}${table === "deliveries" ? ` and ${isBetween("id", 2)}` : ""}`;
    return {
      text: `select id, version from ${TABLES[table].name} where ${isOne} order by id for update`,
      parameters: listOfIds(table, ids),
      note(rows, { versions }) {
        for (const [id, version] of rows) versions.set(named(table, [id ?? null]), Number(version));
      },
    };
  });
}

/** A question for a record: the table, the properties by which the record is found, and their values. */
interface RecordQuestion {
  operation: EncodedOperation;
  table: TableName;
  where: string;
  values: readonly SqlValue[];
}

function questionOf(operation: EncodedOperation): RecordQuestion[] {
  switch (operation[0]) {
    case "insertUnique": {
      const [, table, values] = operation;
      return [{ operation, table, where: uniqueProperties(table).join(), values: uniqueValues(table, values) }];
    }
    case "require":
    case "requireNone": {
      const [, table, where, values] = operation;
      return [{ operation, table, where, values }];
    }
    default:
      return [];
  }
}

/** Asks which records are there: one statement for all questions about the same properties of a table. */
function recordChecks(operations: readonly EncodedOperation[]): Check[] {
  const questions = Map.groupBy(operations.flatMap(questionOf), ({ table, where }) => `${table} ${where}`);
  return [...questions.values()].flatMap((own) => {
    const [first] = own;
    return first === undefined ? [] : [recordCheck(first, own)];
  });
}

function recordCheck(question: RecordQuestion, questions: readonly RecordQuestion[]): Check {
  const { text, columns } = writtenOf(question);
  const rows = questions.map(({ values }, n) => [n, ...values]);
  return {
    text,
    parameters: [jsonRows(columns, rows)],
    note(found, findings) {
      for (const [n] of found) {
        const one = questions[Number(n)];
        if (one !== undefined) findings.found.add(one.operation);
      }
    },
  };
}

/** The text of a question, and the columns of its rows. */
interface WrittenQuestion {
  text: string;
  columns: readonly InputColumn[];
}

/** The texts so far, by table and properties. The engine has some dozens of questions. */
const TEXTS = new Map<string, WrittenQuestion>();

function writtenOf({ table, where }: RecordQuestion): WrittenQuestion {
  const name = `${table} ${where}`;
  const known = TEXTS.get(name);
  if (known !== undefined) return known;
  const keys = propertiesOf(where).map((property, index) => ({
    property,
    key: inputColumn(table, property, `k${index}`),
  }));
  const columns = [numberColumn("n"), ...keys.map(({ key }) => key)];
  const isSame = keys.map(({ property, key }) => `t."${columnOf(property)}" = ${columnValue("r", key)}`).join(" and ");
  // With the limit the planner looks each row up, and never reads the whole table to join it.
  const text = `select r.n from ${recordset("$1", columns)}
    where (select true from ${TABLES[table].name} t where ${isSame} limit 1)`;
  const written = { text, columns };
  TEXTS.set(name, written);
  return written;
}

/** Asks whether messages of pairs are leased. The lanes of the pairs are locked: no further message of them is leased meanwhile. */
function pairChecks(operations: readonly EncodedOperation[]): Check[] {
  const required = operations.filter((one) => one[0] === "requireUnleased");
  if (required.length === 0) return [];
  return [
    {
      text: `select p.place::int from unnest($1::text[], $2::text[], $3::text[]) with ordinality p (lane, "from", "to", place)
        where ${isLeasedPair("p.lane", 'p."from"', 'p."to"')}`,
      parameters: [
        required.map(([, lane]) => lane),
        required.map(([, , from]) => from),
        required.map(([, , , to]) => phoneKey(to)),
      ],
      note(rows, { unmet }) {
        for (const [place] of rows) {
          const operation = required[Number(place) - 1];
          if (operation !== undefined) unmet.add(operation);
        }
      },
    },
  ];
}
