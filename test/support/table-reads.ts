/** Counts what work on one connection to PostgreSQL reads of its tables, however it goes about it. */

import type pg from "pg";

/** The reads of some tables and their indexes. */
export interface TableReads {
  /** Pages, those in memory included. */
  pages: number;
  /** Rows of tables that were read whole, and entries of indexes. */
  rows: number;
  /** Scans of indexes: an index that is asked for each of some ids is scanned for each. */
  scans: number;
}

/** The counts of the server for the tables whose name matches `$1`, as LIKE has it. */
const COUNTS = `select
    sum(heap_blks_read + heap_blks_hit + coalesce(idx_blks_read + idx_blks_hit, 0))::bigint as pages,
    sum(seq_tup_read + coalesce((select sum(idx_tup_read) from pg_stat_user_indexes i where i.relid = t.relid), 0))::bigint as rows,
    sum(coalesce(idx_scan, 0))::bigint as scans
  from pg_stat_user_tables t join pg_statio_user_tables using (relid) where t.relname like $1`;

/** Counts what `work` reads of the tables whose name matches `tables` (`%`: all). It has the one connection of the pool to itself. */
export async function readsOf(pool: pg.Pool, work: () => Promise<unknown>, tables = "%"): Promise<TableReads> {
  const count = async (): Promise<TableReads> => {
    await pool.query("select pg_stat_force_next_flush()");
    const { rows } = await pool.query<TableReads>(COUNTS, [tables]);
    return rows[0] ?? { pages: 0, rows: 0, scans: 0 };
  };
  const before = await count();
  await work();
  const after = await count();
  return {
    pages: after.pages - before.pages,
    rows: after.rows - before.rows,
    scans: after.scans - before.scans,
  };
}
