/** Checks at the start that a PostgreSQL server can keep the service's promises. A refusal says in one line what to do. */

import { setTimeout } from "node:timers/promises";
import pg from "pg";
import { StoreUnusable } from "../store.ts";
import { APPLICATION_NAME, CONNECT_MS_MAX } from "./pool.ts";

/** The oldest version that the service runs on, as `server_version_num` writes it. */
const VERSION_MIN = 150_000;

/** Settings of the server, as this user's connection to this database has them. */
interface ServerSettings {
  version_num: number;
  version: string;
  encoding: string;
  in_recovery: boolean;
  read_only: string;
  synchronous_commit: string;
  isolation: string;
  fsync: string;
}

/** The parts of the URL that a refusal names: never the password. */
interface ServerPlace {
  server: string;
  database: string;
  user: string;
}

/** Throws `StoreUnusable` if the database cannot be used. Returns warnings about settings that lose data in a power cut. */
export async function checkServer(url: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: CONNECT_MS_MAX });
  const place = placeOf(client);
  // The connection may also be lost between two statements.
  client.on("error", () => {});
  try {
    await client.connect();
    return requireSettings(await readSettings(client), place);
  } catch (error) {
    throw error instanceof StoreUnusable ? error : explain(error, place);
  } finally {
    await client.end().catch(() => {});
  }
}

function placeOf({ host, port, database = "", user = "" }: pg.Client): ServerPlace {
  return { server: host.startsWith("/") ? host : `${host}:${port}`, database, user };
}

async function readSettings(client: pg.Client): Promise<ServerSettings> {
  const { rows } = await client.query<ServerSettings>(
    `select current_setting('server_version_num')::int as version_num, current_setting('server_version') as version,
      current_setting('server_encoding') as encoding, pg_is_in_recovery() as in_recovery,
      current_setting('default_transaction_read_only') as read_only,
      current_setting('synchronous_commit') as synchronous_commit,
      current_setting('default_transaction_isolation') as isolation, current_setting('fsync') as fsync`,
  );
  const [settings] = rows;
  if (settings === undefined) throw new Error("the server did not name its settings");
  return settings;
}

function requireSettings(settings: ServerSettings, { server, database, user }: ServerPlace): string[] {
  const refuse = (problem: string): never => {
    throw new StoreUnusable(`PostgreSQL at ${server} ${problem}.`);
  };
  const setRole = (setting: string, value: string) => `ALTER ROLE "${user}" SET ${setting} = ${value}`;
  if (settings.version_num < VERSION_MIN)
    refuse(`has version ${settings.version}, and the service needs 15 or newer: upgrade it`);
  if (settings.encoding !== "UTF8")
    refuse(
      `has the database ${database} in ${settings.encoding}, which cannot hold every text: create one with CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0`,
    );
  if (settings.in_recovery)
    refuse("is a standby, which takes no writes: name the primary in DATABASE_URL, or promote this server");
  if (settings.read_only === "on")
    refuse(`takes no writes from the user ${user}: ${setRole("default_transaction_read_only", "off")}`);
  if (settings.synchronous_commit === "off")
    refuse(
      `has synchronous_commit off, and would lose accepted messages in a crash: ${setRole("synchronous_commit", "on")}`,
    );
  if (settings.isolation !== "read committed")
    refuse(
      `has the default isolation ${settings.isolation}, under which transactions fail: ${setRole("default_transaction_isolation", "'read committed'")}`,
    );
  if (settings.fsync === "on") return [];
  return [`PostgreSQL at ${server} has fsync off: a power cut loses accepted messages, and may damage the database`];
}

/** Why there is no connection and what to do about it, by SQLSTATE or error code. */
const REFUSALS: Readonly<Record<string, (place: ServerPlace, message: string) => string>> = {
  "28P01": ({ server, user }) =>
    `PostgreSQL at ${server} refuses the password of the user ${user}: correct DATABASE_URL.`,
  "28000": ({ server, user }, message) =>
    `PostgreSQL at ${server} refuses the user ${user} (${message}): create the user, or allow the connection in pg_hba.conf.`,
  "3D000": ({ server, database }) =>
    `PostgreSQL at ${server} has no database ${database}: run CREATE DATABASE "${database}" ENCODING 'UTF8' TEMPLATE template0, or correct DATABASE_URL.`,
  "42501": ({ server, database, user }, message) =>
    `PostgreSQL at ${server} refuses the user ${user} (${message}): GRANT CONNECT, CREATE ON DATABASE "${database}" TO "${user}".`,
  "53300": ({ server }) =>
    `PostgreSQL at ${server} has no connection left: raise max_connections, or put PgBouncer in front.`,
};

/** The error of the client if the server asks for a password and nobody gave one. */
const NO_PASSWORD = /client password must be a (non-empty )?string/;

function explain(error: unknown, place: ServerPlace): StoreUnusable {
  const { code = "", message } = error as NodeJS.ErrnoException;
  const refusal = REFUSALS[code];
  if (refusal !== undefined) return new StoreUnusable(refusal(place, oneLine(message)));
  if (NO_PASSWORD.test(message))
    return new StoreUnusable(
      `PostgreSQL at ${place.server} asks for the password of the user ${place.user}: put it in DATABASE_URL, PGPASSWORD or .pgpass.`,
    );
  // If a name has several addresses, the error has a code and no message.
  const reason = oneLine(message === "" ? code : message);
  return new StoreUnusable(
    `PostgreSQL at ${place.server} cannot be used (${reason}): check that it runs, and the host, port and sslmode in DATABASE_URL.`,
  );
}

function oneLine(message: string): string {
  return message.replace(/\s+/g, " ").trim();
}

/**
 * How long the connections of a process that has just ended may last in
 * the server, and the pause between two looks for them, in milliseconds.
 */
const ENDING_MS_MAX = 2_000;
const LOOK_EVERY_MS = 100;

/** Throws `StoreUnusable` if another process of the service is still connected to the database after two seconds. */
export async function requireAlone(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: CONNECT_MS_MAX });
  client.on("error", () => {});
  try {
    await client.connect();
    for (let left = ENDING_MS_MAX / LOOK_EVERY_MS; await isConnected(client); left -= 1) {
      if (left === 0)
        throw new StoreUnusable("The service is connected to the database: stop all of its processes first.");
      await setTimeout(LOOK_EVERY_MS);
    }
  } catch (error) {
    throw error instanceof StoreUnusable ? error : explain(error, placeOf(client));
  } finally {
    await client.end().catch(() => {});
  }
}

/** Whether a process of the service is connected to the database that `client` is connected to. */
async function isConnected(client: pg.Client): Promise<boolean> {
  const { rowCount } = await client.query(
    `select 1 from pg_stat_activity
      where datname = current_database() and application_name = $1 and pid <> pg_backend_pid() limit 1`,
    [APPLICATION_NAME],
  );
  return rowCount !== 0;
}
