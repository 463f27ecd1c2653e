/** Passes connections on to a port of this machine, which a test may change: an address that moves from one server to another. */

import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A relay that listens. */
export interface Relay {
  port: number;
  /** The port that new connections go to. */
  target: number;
  /** The next connection whose client commits is cut once its server reports the commit: the report is lost. */
  losesCommit: boolean;
  /** Nothing passes either way and no connection ends, until `lighten`. What is sent meanwhile passes then. */
  darken(): void;
  lighten(): void;
  /** Ends all connections. */
  cut(): void;
  stop(): Promise<void>;
}

/** Starts a relay on a free port. `onSent` is called with the text that a client sends. */
export async function startRelay(target: number, onSent: (sent: string) => void = () => {}): Promise<Relay> {
  const sockets = new Map<Socket, Socket>();
  let isDark = false;
  const server = createServer((from) => {
    const to = connect(relay.target, "127.0.0.1");
    from.on("data", (sent) => {
      onSent(sent.toString());
      if (!relay.losesCommit || !sent.includes("commit")) return;
      relay.losesCommit = false;
      to.unpipe(from);
      to.on("data", (answer) => {
        if (answer.includes("COMMIT")) to.destroy();
      }).resume();
    });
    for (const [one, other] of [
      [from, to],
      [to, from],
    ] as const) {
      sockets.set(one, other);
      one.on("error", () => other.destroy());
      one.on("close", () => {
        sockets.delete(one);
        other.destroy();
      });
      if (isDark) one.pause();
      else one.pipe(other);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const relay: Relay = {
    port: (server.address() as AddressInfo).port,
    target,
    losesCommit: false,
    cut() {
      for (const socket of sockets.keys()) socket.destroy();
    },
    darken() {
      isDark = true;
      for (const [one, other] of sockets) one.unpipe(other).pause();
    },
    lighten() {
      isDark = false;
      for (const [one, other] of sockets) one.pipe(other);
    },
    async stop() {
      relay.cut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return relay;
}
