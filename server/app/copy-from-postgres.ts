/** Copies one snapshot of a PostgreSQL database into a new file of the embedded database, while services use PostgreSQL. */

import { ConfigError } from "../config.ts";
import { CopyDiffers, type CopyOptions, compareRows, copyRows, type RowCopy } from "../store/copy-rows.ts";
import { checkServer } from "../store/postgres/check-server.ts";
import { CopySource } from "../store/postgres/copy-source.ts";
import { failureOf } from "../store/postgres/sql.ts";
import { RowSource } from "../store/sqlite/row-source.ts";
import { RowTarget } from "../store/sqlite/row-target.ts";

/**
 * Copies the database at a URL into the new file `path`, and compares the copy with what was read. Throws `ConfigError` with one line
 * if it cannot.
 */
export async function copyFromPostgres(url: string, path: string, progress: CopyOptions["progress"]): Promise<void> {
  await checkServer(url);
  const copied = await copyInto(path, url, progress);
  const copy = new RowSource(path);
  try {
    await compareRows(copied, copy, { progress });
  } catch (error) {
    if (!(error instanceof CopyDiffers)) throw error;
    throw new ConfigError(`${error.message}: report this as a bug, and use pg_dump.`);
  } finally {
    copy.close();
  }
}

async function copyInto(path: string, url: string, progress: CopyOptions["progress"]): Promise<RowCopy> {
  const target = RowTarget.make(path);
  try {
    const source = await CopySource.open(url);
    try {
      const copied = await copyRows(source, target, { progress });
      target.finish(await source.lastPosition());
      return copied;
    } finally {
      await source.close();
    }
  } catch (error) {
    if (failureOf(error) !== "unavailable") throw error;
    throw new ConfigError(`PostgreSQL was lost (${(error as Error).message}): run the command again.`);
  } finally {
    target.close();
  }
}
