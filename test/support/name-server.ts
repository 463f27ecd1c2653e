/** A name server on loopback, over UDP, that responds as a test sets it. */

import { createSocket } from "node:dgram";
import type { AddressInfo } from "node:net";

const TYPE_A = 1;

/** The addresses of a name. */
export interface Zone {
  a: string[];
  aaaa: Buffer[];
  ttlSeconds: number;
}

/** A DNS server that answers from `zone`, NXDOMAIN for other names, and for names that begin with "mute" nothing. */
export async function nameServer(
  zone: Record<string, Zone>,
): Promise<{ address: string; asked: string[]; close: () => void }> {
  const server = createSocket("udp4");
  const asked: string[] = [];
  server.on("message", (query, from) => {
    const labels: string[] = [];
    let at = 12;
    for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
      labels.push(query.toString("latin1", at + 1, at + 1 + length));
      at += length + 1;
    }
    const name = labels.join(".");
    const type = query.readUInt16BE(at + 1);
    asked.push(`${name} ${type}`);
    if (name.startsWith("mute")) return;
    const found = zone[name];
    const data =
      type === TYPE_A ? (found?.a ?? []).map((ip) => Buffer.from(ip.split(".").map(Number))) : (found?.aaaa ?? []);
    const header = Buffer.alloc(12);
    query.copy(header, 0, 0, 2);
    header.writeUInt16BE(found === undefined ? 0x8183 : 0x8180, 2);
    header.writeUInt16BE(1, 4);
    header.writeUInt16BE(data.length, 6);
    const answers = data.map((bytes) => {
      const record = Buffer.alloc(12);
      record.writeUInt16BE(0xc00c, 0);
      record.writeUInt16BE(type, 2);
      record.writeUInt16BE(1, 4);
      record.writeUInt32BE(found?.ttlSeconds ?? 0, 6);
      record.writeUInt16BE(bytes.length, 10);
      return Buffer.concat([record, bytes]);
    });
    server.send(Buffer.concat([header, query.subarray(12, at + 5), ...answers]), from.port, from.address);
  });
  await new Promise<void>((resolve) => server.bind(0, "127.0.0.1", resolve));
  return { address: `127.0.0.1:${(server.address() as AddressInfo).port}`, asked, close: () => server.close() };
}
