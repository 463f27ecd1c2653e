/** The part of npm's `smpp` that these tests use; the package has no types. */

declare module "smpp" {
  import type { Server as TcpServer } from "node:net";

  /** Fields by their names in SMPP 3.4. */
  type Fields = Record<string, unknown>;

  export class PDU {
    /** Made from a command and its fields, or read from a frame. */
    constructor(command: string, fields: Fields);
    constructor(frame: Buffer);
    command: string;
    command_status: number;
    sequence_number: number;
    [field: string]: unknown;
    toBuffer(): Buffer;
    response(fields?: Fields): PDU;
  }

  export interface Session {
    on(event: "pdu", listener: (pdu: PDU) => void): this;
    on(event: "close", listener: () => void): this;
    on(event: "error", listener: (error: Error) => void): this;
    send(pdu: PDU, answered?: (answer: PDU) => void): boolean;
    deliver_sm(fields: Fields, answered?: (answer: PDU) => void): boolean;
    enquire_link(answered?: (answer: PDU) => void): boolean;
    unbind(answered?: (answer: PDU) => void): boolean;
    close(): void;
    destroy(): void;
  }

  export function createServer(
    options: { key?: string; cert?: string },
    listener: (session: Session) => void,
  ): TcpServer;

  /** Loops put these there, so that Node sees them on the default export only. */
  const tables: {
    /** command_status by its name in SMPP 3.4. */
    errors: Readonly<Record<string, number>>;
  };

  // biome-ignore lint/style/noDefaultExport: this is how it comes.
  export { tables as default };
}
