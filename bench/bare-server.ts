/** The baseline of accepting: a process with a bare `node:http` handler that parses and responds. */

import { createServer } from "node:http";
import { acceptedExample } from "../contract/sending.ts";
import type { AcceptedMessage, SendMessage, Success } from "../sdk/wire.ts";
import { answerParent } from "./child.ts";

const REQUEST_ID = "req_019aa000-0000-7000-8000-000000000000";
const CORRELATION_ID = "cor_00000000000000000000000000000000";

/** An answer as large as the service's own to the same body. */
function envelope(body: SendMessage): Success<AcceptedMessage> {
  return {
    success: true,
    data: {
      ...acceptedExample,
      status: body.scheduledAt === undefined ? "queued" : "scheduled",
      to: body.to ?? "",
      scheduledAt: body.scheduledAt ?? null,
      externalMessageId: body.externalMessageId ?? null,
    },
    requestId: REQUEST_ID,
  };
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => void chunks.push(chunk));
  request.on("end", () => {
    const body: SendMessage = JSON.parse(Buffer.concat(chunks).toString());
    const answer = JSON.stringify(envelope(body));
    response.writeHead(202, {
      "X-Request-Id": REQUEST_ID,
      "X-Correlation-Id": CORRELATION_ID,
      "Content-Type": "application/json; charset=utf-8",
      "Content-Length": Buffer.byteLength(answer),
    });
    response.end(answer);
  });
});

/** Its only request: the port. */
export type BareQuestion = "port";

answerParent<BareQuestion, number>(
  () =>
    new Promise((resolve) => {
      server.listen(0, "127.0.0.1", () => {
        const address = server.address();
        resolve(typeof address === "object" && address !== null ? address.port : 0);
      });
    }),
);
