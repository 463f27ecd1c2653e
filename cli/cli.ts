/** The surroundings of a command: a client for the kind of key that it needs, and an output. */

import { setTimeout as pause } from "node:timers/promises";
import type { Command } from "commander";
import { Tightbeam } from "../sdk/client.ts";
import { type Connection, findConnection, findServer, type KeyKind, type Server, storedKeys } from "./connection.ts";
import { type Output, outputTo, type Terminal } from "./output.ts";

/** Whether a client fails at once if the server is down, or waits until the server is back. */
type Patience = "fails at once" | "waits";

export interface Cli {
  /** The program, with all its commands. */
  program: Command;
  terminal: Terminal;
  /** Version of the package. */
  version: string;
  /** The server that the options name, whether a key is known for it or not. Throws `UsageError` for a bad address. */
  server(): Server;
  /** Server and key from the options, and their sources. Throws `UsageError` if no key is found. */
  connection(kind: KeyKind): Connection;
  /** The keys that `credentials.json` holds for that server, as the variables to set. */
  storedKeys(): Record<string, string>;
  /** A client for them. Default: the kind of key that the command's row names. */
  client(kind?: KeyKind, patience?: Patience): Tightbeam;
  output(): Output;
}

/** Longest wait in milliseconds for a busy server before the command gives up: a minute. */
const WAIT_MS_MAX = 60_000;

/** The surroundings of the commands of `program`, whose options are read when a command runs. */
export function createCli(program: Command, terminal: Terminal): Cli {
  const options = () => program.opts<{ url?: string; key?: string; json?: boolean; wide?: boolean }>();
  const output = () => outputTo(terminal, options());
  const connection = (kind: KeyKind) => findConnection(kind, options(), terminal.env);
  return {
    program,
    terminal,
    version: program.version() ?? "",
    output,
    connection,
    server: () => findServer(options(), terminal.env),
    storedKeys: () => storedKeys(options(), terminal.env),
    client(kind = "messages", patience = "fails at once") {
      const { baseUrl, apiKey } = connection(kind);
      return new Tightbeam({
        baseUrl,
        apiKey,
        async wait(delayMs, why, signal) {
          if (patience === "waits") {
            output().note(`${why.code} ${why.message} Trying again in ${delayMs / 1000} s.`);
            await pause(delayMs, undefined, signal === undefined ? {} : { signal });
            return;
          }
          // A server that is down fails the command at once; a busy server is waited for, visibly.
          if (why.status === 0 || delayMs > WAIT_MS_MAX) throw why;
          output().note(`${why.code}: waiting ${delayMs / 1000} s, as the server asks`);
          await terminal.sleep(delayMs);
        },
      });
    },
  };
}
