/** Tests that a server which cannot keep the service's promises is refused with one line that says what to do. */

import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, type TestContext, test } from "node:test";
import pg from "pg";
import { createDatabase, type PostgresServer, startPostgres } from "../../../test/support/postgres.ts";
import { until } from "../../../test/support/wait.ts";
import { StoreUnusable } from "../store.ts";
import { checkServer, requireAlone } from "./check-server.ts";

const OTHER_SERVER = process.env.TB_TEST_DATABASE_URL ? "another server may accept every password" : false;
/** The access to the server: its own administrator, and everybody else by password. */
const ACCESS = "host all postgres 127.0.0.1/32 trust\nhost all all 127.0.0.1/32 scram-sha-256\n";

let server: PostgresServer;
let directory: string;
before(async () => {
  directory = mkdtempSync(join(tmpdir(), "tightbeam-access-"));
  const access = join(directory, "access.conf");
  writeFileSync(access, ACCESS);
  // The server may run as another user.
  chmodSync(directory, 0o755);
  server = await startPostgres([`hba_file=${access}`]);
});
after(async () => {
  await server.stop();
  rmSync(directory, { recursive: true });
});

/** A new database, and the URL of it for a new user for whom `statements` have run; `USER` in them is the user's name. */
async function databaseWith(t: TestContext, ...statements: string[]): Promise<{ url: string; user: string }> {
  const { url, drop } = await createDatabase(server);
  const user = `user_${new URL(url).pathname.slice(1)}`;
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  for (const statement of [`create role USER login password 'pass"word'`, ...statements])
    await client.query(statement.replaceAll("USER", user));
  await client.end();
  t.after(async () => {
    await drop();
    await administer(`drop role ${user}`);
  });
  const own = new URL(url);
  own.username = user;
  own.password = 'pass"word';
  return { url: own.href, user };
}

async function administer(statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: server.urlOf("postgres") });
  await client.connect();
  await client.query(statement);
  await client.end();
}

async function assertRefused(t: TestContext, url: string, line: RegExp): Promise<void> {
  const error = await checkServer(url).then(
    () => t.assert.fail("it was not refused"),
    (thrown: unknown) => thrown as Error,
  );
  t.assert.ok(error instanceof StoreUnusable, `${error}`);
  t.assert.match(error.message, line);
  t.assert.ok(!error.message.includes("\n") && !/pass.{1,3}word/.test(error.message), error.message);
}

test("a server with ordinary settings is accepted without a warning", async (t) => {
  const { url } = await databaseWith(t);
  t.assert.deepEqual(await checkServer(url), []);
});

test("settings of the user under which an accepted message could be lost or refused are named with their remedy", async (t) => {
  const settings: [setting: string, line: RegExp][] = [
    ["synchronous_commit = off", /synchronous_commit off.*: ALTER ROLE "user_\w+" SET synchronous_commit = on\.$/],
    ["default_transaction_isolation = 'serializable'", /isolation serializable.*: ALTER ROLE .* = 'read committed'\.$/],
    [
      "default_transaction_read_only = on",
      /takes no writes.*: ALTER ROLE .* SET default_transaction_read_only = off\.$/,
    ],
  ];
  for (const [setting, line] of settings) {
    const { url } = await databaseWith(t, `alter role USER set ${setting}`);
    await assertRefused(t, url, line);
  }
  const { url } = await databaseWith(t, "alter role USER set synchronous_commit = local");
  t.assert.deepEqual(await checkServer(url), [], "the commit is on the server's own disk");
});

test("an older server and a standby are refused", async (t) => {
  const shadowing = "alter role USER set search_path = public, pg_catalog";
  const older = `create function public.current_setting(text) returns text language sql as
    $$ select case $1 when 'server_version_num' then '140011' when 'server_version' then '14.11'
      else pg_catalog.current_setting($1) end $$`;
  await assertRefused(t, (await databaseWith(t, shadowing, older)).url, /has version 14\.11, and the service needs 15/);
  const standby = "create function public.pg_is_in_recovery() returns boolean language sql as 'select true'";
  await assertRefused(t, (await databaseWith(t, shadowing, standby)).url, /is a standby.*name the primary/);
});

test("a database that is not UTF8 is refused", async (t) => {
  const { url } = await databaseWith(t);
  const name = `${new URL(url).pathname.slice(1)}_latin`;
  await administer(`create database ${name} encoding 'LATIN1' locale 'C' template template0`);
  t.after(() => administer(`drop database ${name} with (force)`));
  const other = new URL(url);
  other.pathname = name;
  await assertRefused(t, other.href, /in LATIN1.*: create one with CREATE DATABASE … ENCODING 'UTF8'/);
});

test("a connection that cannot be opened is refused with its reason", async (t) => {
  const { url } = await databaseWith(t);
  const missing = new URL(url);
  missing.pathname = "absent";
  await assertRefused(t, missing.href, /has no database absent: run CREATE DATABASE "absent"/);
  const stranger = new URL(url);
  stranger.username = "stranger";
  await assertRefused(t, stranger.href, /refuses the password of the user stranger: correct DATABASE_URL/);
  const elsewhere = new URL(url);
  elsewhere.port = "1";
  await assertRefused(t, elsewhere.href, /^PostgreSQL at 127\.0\.0\.1:1 cannot be used \(connect ECONNREFUSED/);
  const encrypted = new URL(url);
  encrypted.searchParams.set("sslmode", "verify-full");
  await assertRefused(t, encrypted.href, /cannot be used \(The server does not support SSL connections\)/);
});

test("a password that is missing is asked for", { skip: OTHER_SERVER }, async (t) => {
  const { url, user } = await databaseWith(t);
  const without = new URL(url);
  without.password = "";
  await assertRefused(t, without.href, new RegExp(`asks for the password of the user ${user}: put it in DATABASE_URL`));
});

test("a wrong password is refused, and no line shows it", { skip: OTHER_SERVER }, async (t) => {
  const { url, user } = await databaseWith(t);
  const wrong = new URL(url);
  wrong.password = "other pass word";
  await assertRefused(t, wrong.href, new RegExp(`refuses the password of the user ${user}: correct DATABASE_URL\\.$`));
});

test("a command waits for the end of the connections of a process that has ended, and refuses to run beside one", async (t) => {
  const { url, drop } = await createDatabase(server);
  t.after(drop);
  const service = new pg.Client({ connectionString: url, application_name: "tightbeam" });
  const admin = new pg.Client({ connectionString: url });
  await Promise.all([service.connect(), admin.connect()]);
  await t.assert.rejects(requireAlone(url), /^Error: The service is connected to the database/);
  const looks = "query like '%from pg_stat_activity%' and pid <> pg_backend_pid() and datname = current_database()";
  const looking = async () => (await admin.query(`select 1 from pg_stat_activity where ${looks}`)).rowCount;
  await until(async () => (await looking()) === 0);
  const isAlone = requireAlone(url).then(() => true);
  await until(async () => (await looking()) === 1);
  await service.end();
  t.assert.equal(await isAlone, true);
  await admin.end();
});
