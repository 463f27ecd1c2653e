/** Lets the server listen, and says where it can be reached. */

import type { FastifyInstance } from "fastify";
import { type Config, ConfigError } from "../config.ts";

/** Listens, and returns the port. Throws `ConfigError` with one line if the address cannot be had. */
export async function listen(app: FastifyInstance, { host, port }: Config): Promise<number> {
  try {
    await app.listen({ host, port });
  } catch (error) {
    await app.close();
    throw new ConfigError(listenProblem(error, host, port));
  }
  return portOf(app);
}

function listenProblem(error: unknown, host: string, port: number): string {
  const code = (error as NodeJS.ErrnoException).code;
  if (code === "EADDRINUSE")
    return `Port ${port} on ${host} is in use: stop what listens there, or set PORT (0 picks a free one).`;
  if (code === "EACCES") return `Port ${port} needs more rights: set PORT to one above 1023.`;
  return `Cannot listen on ${host}:${port}: ${(error as Error).message}.`;
}

function portOf(app: FastifyInstance): number {
  const address = app.server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

/** The address at which this process reaches itself: the one it listens on, or loopback for all addresses. */
export function ownUrl(app: FastifyInstance): string {
  const address = app.server.address();
  if (typeof address !== "object" || address === null) return "";
  const host = address.address === "0.0.0.0" ? "127.0.0.1" : address.address === "::" ? "::1" : address.address;
  return `http://${host.includes(":") ? `[${host}]` : host}:${address.port}`;
}
