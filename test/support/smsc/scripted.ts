/** An SMSC that a test controls to the octet: it answers correctly, wrongly, twice or never. Ends with the test. */

import { createServer, type Server, type Socket } from "node:net";
import type { TestContext } from "node:test";
import { createServer as createTlsServer } from "node:tls";
import { decodePdu, encodePdu } from "../../../server/providers/smpp/codec.ts";
import { Frames } from "../../../server/providers/smpp/frames.ts";
import type { Bind, BindResp, CommandName, Pdu } from "../../../server/providers/smpp/pdu.ts";
import { TLS_KEY } from "../certificate.ts";
import { NO_TLVS } from "./pdus.ts";

/** One connection to the SMSC. */
export class Caller {
  readonly socket: Socket;
  /** Every PDU received on it. */
  readonly received: Pdu[] = [];
  isClosed = false;

  constructor(socket: Socket) {
    this.socket = socket;
  }

  send(pdu: Pdu): void {
    this.socket.write(encodePdu(pdu));
  }

  /** The received PDUs of one kind. */
  of<Name extends CommandName>(command: Name): Extract<Pdu, { command: Name }>[] {
    return this.received.filter((pdu): pdu is Extract<Pdu, { command: Name }> => pdu.command === command);
  }
}

export type Script = (pdu: Pdu, caller: Caller) => void;

export interface ScriptedSmsc {
  port: number;
  /** In the order of connection. */
  callers: Caller[];
  /** The reaction to each PDU; may be changed at any time. */
  script: Script;
  /** All PDUs of one kind, over all connections. */
  of<Name extends CommandName>(command: Name): Extract<Pdu, { command: Name }>[];
  /** The newest connection. */
  last(): Caller;
}

/** Listens on loopback until the test ends; with `cert`, over TLS. */
export async function scriptedSmsc(
  t: TestContext,
  { script = polite, cert }: { script?: Script; cert?: string } = {},
): Promise<ScriptedSmsc> {
  const smsc: ScriptedSmsc = {
    port: 0,
    callers: [],
    script,
    of: (command) => smsc.callers.flatMap((caller) => caller.of(command)),
    last() {
      const caller = smsc.callers.at(-1);
      if (caller === undefined) throw new Error("nobody called the SMSC");
      return caller;
    },
  };
  const call = (socket: Socket) => answer(smsc, socket);
  const server = cert === undefined ? createServer(call) : createTlsServer({ key: TLS_KEY, cert }, call);
  server.on("tlsClientError", () => {});
  smsc.port = await listening(t, server, smsc.callers);
  return smsc;
}

/** Accepts every bind and every message, with the ids `id-1`, `id-2` and so on, and answers all other requests. */
export function polite(pdu: Pdu, caller: Caller): void {
  const { sequence } = pdu;
  switch (pdu.command) {
    case "bind_transceiver":
    case "bind_transmitter":
    case "bind_receiver":
      caller.send(bindResp(pdu));
      return;
    case "submit_sm": {
      const messageId = `id-${caller.of("submit_sm").length}`;
      caller.send({ command: "submit_sm_resp", status: 0, sequence, messageId, tlvs: NO_TLVS });
      return;
    }
    case "enquire_link":
      caller.send({ command: "enquire_link_resp", status: 0, sequence });
      return;
    case "unbind":
      caller.send({ command: "unbind_resp", status: 0, sequence });
      return;
    default:
  }
}

/** Like `polite`, with other reactions for the commands in `more`. */
export function politeBut(more: Partial<Record<CommandName, Script>>): Script {
  return (pdu, caller) => (more[pdu.command] ?? polite)(pdu, caller);
}

/** The response to a bind. */
export function bindResp(bind: Bind, status = 0): BindResp {
  const systemId = status === 0 ? "SMSC" : "";
  return { command: `${bind.command}_resp`, status, sequence: bind.sequence, systemId, tlvs: NO_TLVS };
}

/** The address of a server that listens until the test ends. */
export async function listening(t: TestContext, server: Server, callers: readonly Caller[] = []): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    for (const { socket } of callers) socket.destroy();
    return new Promise<void>((resolve) => server.close(() => resolve()));
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the server has no port");
  return address.port;
}

function answer(smsc: ScriptedSmsc, socket: Socket): void {
  const caller = new Caller(socket);
  const frames = new Frames();
  smsc.callers.push(caller);
  socket.on("error", () => {});
  socket.on("close", () => {
    caller.isClosed = true;
  });
  socket.on("data", (chunk: Buffer) => {
    frames.push(chunk);
    for (let frame = frames.next(); frame !== null; frame = frames.next()) {
      const pdu = decodePdu(frame);
      caller.received.push(pdu);
      smsc.script(pdu, caller);
    }
  });
}
