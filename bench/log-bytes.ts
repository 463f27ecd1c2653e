/** Measures the log of PostgreSQL between two of its places. Needs the extension `pg_walinspect`. */

import type pg from "pg";

/** Bytes of the log: all of it; images of whole pages, which follow checkpoints; and receipts that the sandbox owes. */
export interface LogBytes {
  all: number;
  images: number;
  receipts: number;
}

/** Most bytes of the log that a message may write, without images of pages and receipts. */
export const LOG_BYTES_MAX = 11 * 1_024;

/** Tables of the sandbox: no other provider writes receipts that it owes. */
const RECEIPTS = ["memory", "memory_pkey"];

/** The end of the log that is on disk. */
export async function endOfLog(database: pg.Client): Promise<string> {
  const { rows } = await database.query<{ log: string }>("select pg_current_wal_flush_lsn()::text as log");
  return rows[0]?.log ?? "";
}

/** The first page of a record names its table: a record that splits a page of an index has several. */
const BLOCKS = `pg_get_wal_block_info($1::pg_lsn, $2::pg_lsn) b
  join pg_class c on pg_relation_filenode(c.oid) = b.relfilenode where b.block_id = 0`;

export async function logBetween(database: pg.Client, from: string, to: string): Promise<LogBytes> {
  const { rows } = await database.query<LogBytes>(
    `select pg_wal_lsn_diff($2, $1)::float8 as all,
       (select coalesce(sum(fpi_size), 0)::float8 from pg_get_wal_stats($1::pg_lsn, $2::pg_lsn)) as images,
       (select coalesce(sum(record_length - block_fpi_length), 0)::float8 from ${BLOCKS} and c.relname = any($3)) as receipts`,
    [from, to, RECEIPTS],
  );
  return rows[0] ?? { all: 0, images: 0, receipts: 0 };
}

/** A table or an index, with bytes of its records in the log, without images of pages. */
export interface LoggedRelation {
  name: string;
  bytes: number;
}

/** The tables and indexes with records, the one with the most bytes first. The days of partitions are left out of their names. */
export async function logByRelation(database: pg.Client, from: string, to: string): Promise<LoggedRelation[]> {
  const { rows } = await database.query<LoggedRelation>(
    `select regexp_replace(c.relname, '_\\d{8}', '') as name, sum(record_length - block_fpi_length)::float8 as bytes
     from ${BLOCKS} group by 1 order by 2 desc`,
    [from, to],
  );
  return rows;
}
