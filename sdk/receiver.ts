/** Receivers of webhooks: verify the signature, call the handler of the event's type, and respond as the service expects. For servers that speak `fetch`, for Express and for Fastify. */

import { type ReceivedWebhook, verifyWebhook, type WebhookHeaders, WebhookVerificationError } from "./signature.ts";
import type { Event, EventType } from "./wire.ts";

/** A handler for each event type that the receiver wants; `*` handles every other type. */
export type WebhookHandlers = {
  readonly [Type in EventType]?: (event: Event<Type>) => unknown;
} & {
  readonly "*"?: (event: Event) => unknown;
};

/** How a receiver verifies what it gets. */
export type WebhookHandlerOptions = Pick<ReceivedWebhook, "secret" | "toleranceSeconds">;

/** The response to a webhook: the body says why it was refused, and is empty if it was not. */
interface Verdict {
  status: 200 | 400 | 405 | 413 | 500;
  body: string;
}

/** Faults of the receiver's own code, which no response to the service can report. */
const OWN_FAULTS: readonly string[] = ["BODY_NOT_RAW", "SECRET_MISSING"];

/** Verifies a webhook and calls its handler. Throws what the handler throws, and the receiver's own faults. */
async function receive(webhook: ReceivedWebhook, handlers: WebhookHandlers): Promise<Verdict> {
  let event: Event;
  try {
    event = await verifyWebhook(webhook);
  } catch (error) {
    if (!(error instanceof WebhookVerificationError) || OWN_FAULTS.includes(error.reason)) throw error;
    return { status: 400, body: error.message };
  }
  await dispatch(event, handlers);
  return { status: 200, body: "" };
}

async function dispatch<Type extends EventType>(event: Event<Type>, handlers: WebhookHandlers): Promise<void> {
  // A property of the prototype is no handler.
  const own = Object.hasOwn(handlers, event.type) ? handlers[event.type] : handlers["*"];
  await (own as ((event: Event<Type>) => unknown) | undefined)?.(event);
}

const METHOD_REFUSED: Verdict = { status: 405, body: "A webhook is a POST." };
const FAILED: Verdict = { status: 500, body: "The receiver could not handle the webhook." };

/**
 * A handler of webhooks for servers that speak `fetch`: Hono, Next.js, Bun, Deno, workers. Responds 200 once the
 * event's handler has returned, or if no handler is for its type, and 400 to anything that is not signed correctly. If
 * the event's handler throws, so does this one: the server then responds 500, and the service sends the event again. An
 * event can arrive twice: handlers deduplicate by `event.id`.
 */
export function webhookHandler(
  handlers: WebhookHandlers,
  options: WebhookHandlerOptions,
): (request: Request) => Promise<Response> {
  return async (request) => {
    const { status, body } =
      request.method === "POST"
        ? await receive({ ...options, headers: request.headers, body: await request.arrayBuffer() }, handlers)
        : METHOD_REFUSED;
    return new Response(body, { status, headers: headersOf(status) });
  };
}

function headersOf(status: Verdict["status"]): Record<string, string> {
  return status === 405 ? { Allow: "POST" } : { "Content-Type": "text/plain; charset=utf-8" };
}

/** The parts that are used of a request of Express, or of Node itself. */
interface NodeRequest extends AsyncIterable<unknown> {
  method?: string | undefined;
  headers: WebhookHeaders;
  /** The raw body if `express.raw()` has read it; undefined if nothing has. */
  body?: unknown;
}

/** The parts that are used of a response of Express, or of Node itself. */
interface NodeResponse {
  statusCode: number;
  setHeader(name: string, value: string): unknown;
  end(body: string): unknown;
}

/** Longest body that is read, in bytes: several times the longest event. */
const BODY_BYTES_MAX = 1_048_576;

/**
 * `webhookHandler` as a handler of Express, or of Node's own server: `app.post(path, expressWebhookHandler(…))`. It reads
 * the body itself, so that no parser is needed; `express.raw()` may stand before it, and `express.json()` must not. If the
 * event's handler throws, Express gets the error by `next`. Node's own server has no `next`: the response is then 500, so
 * that the service sends the event again, and the error goes to `console.error`.
 */
export function expressWebhookHandler(
  handlers: WebhookHandlers,
  options: WebhookHandlerOptions,
): (request: NodeRequest, response: NodeResponse, next?: (error: unknown) => void) => Promise<void> {
  return async (request, response, next) => {
    try {
      respond(response, await receiveFromNode(request, options, handlers));
    } catch (error) {
      if (next !== undefined) return next(error);
      // A rejection that nobody handles would end the process.
      // biome-ignore lint/suspicious/noConsole: a server without `next` has no other place for the error.
      console.error(error);
      respond(response, FAILED);
    }
  };
}

function respond(response: NodeResponse, { status, body }: Verdict): void {
  response.statusCode = status;
  for (const [name, value] of Object.entries(headersOf(status))) response.setHeader(name, value);
  response.end(body);
}

async function receiveFromNode(
  request: NodeRequest,
  options: WebhookHandlerOptions,
  handlers: WebhookHandlers,
): Promise<Verdict> {
  if (request.method !== "POST") return METHOD_REFUSED;
  const body = request.body === undefined ? await readBody(request) : request.body;
  if (body === null) return { status: 413, body: `A webhook has at most ${BODY_BYTES_MAX} bytes.` };
  // verifyWebhook refuses a body that is neither text nor bytes.
  return await receive({ ...options, headers: request.headers, body: body as ReceivedWebhook["body"] }, handlers);
}

/** All bytes of a stream; null if there are too many. */
async function readBody(stream: AsyncIterable<unknown>): Promise<Uint8Array | null> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of stream) {
    const bytes = typeof part === "string" ? new TextEncoder().encode(part) : (part as Uint8Array);
    length += bytes.length;
    if (length > BODY_BYTES_MAX) return null;
    parts.push(bytes);
  }
  const whole = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** The parts that are used of a Fastify instance. */
interface FastifyInstance {
  removeContentTypeParser(type: string): unknown;
  addContentTypeParser(
    type: string,
    options: { parseAs: "buffer" },
    parser: (request: never, body: Uint8Array & string, done: (error: Error | null, body?: unknown) => void) => void,
  ): unknown;
  post(path: string, handler: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>): unknown;
}

interface FastifyRequest {
  headers: WebhookHeaders;
  body: unknown;
}

interface FastifyReply {
  code(status: number): { headers(headers: Record<string, string>): { send(body: string): unknown } };
}

/** `webhookHandler` as a plugin of Fastify: `app.register(fastifyWebhookPlugin(path, …))`. Other routes still parse JSON. */
export function fastifyWebhookPlugin(
  path: string,
  handlers: WebhookHandlers,
  options: WebhookHandlerOptions,
): (instance: FastifyInstance) => Promise<void> {
  return async (instance) => {
    // Within this plugin JSON stays bytes: a parsed body cannot be verified.
    instance.removeContentTypeParser("application/json");
    instance.addContentTypeParser("application/json", { parseAs: "buffer" }, (_, body, done) => done(null, body));
    instance.post(path, async (request, reply) => {
      const { headers, body: given } = request;
      const received = { ...options, headers, body: (given ?? "") as ReceivedWebhook["body"] };
      const { status, body } = await receive(received, handlers);
      return reply.code(status).headers(headersOf(status)).send(body);
    });
  };
}
