/** A recording: what somebody did on the phones and what happened, and the TypeScript test that does the same. Pure. */

import type { Event, PhoneCall, PhoneMessage, PhonePayment, PhoneReaction, PhoneSettings } from "../../../sdk/wire.ts";

/** An action on a phone. `id` is the message that it made. */
export type PhoneAct =
  | { does: "write"; number: string; message: PhoneMessage; id: string }
  | { does: "react"; number: string; reaction: PhoneReaction }
  | { does: "pay"; number: string; payment: PhonePayment; id: string }
  | { does: "call"; number: string; call: PhoneCall }
  | { does: "set"; number: string; settings: Partial<PhoneSettings> };

/** Called when an action begins: records the action once the service has taken it, and shows the error if the service refuses it. */
export type NoteAct = (act: Promise<PhoneAct>, onError?: (error: unknown) => void) => void;

/** A step: an action, at the place where it began, or an event. So no event stands before the action that it follows from. */
export type Step = PhoneAct | { saw: Event };

/** Events that a test waits for. The others say what a later one says too, or depend on time. */
const AWAITED: ReadonlySet<string> = new Set([
  "message.delivered",
  "message.failed",
  "message.fallback",
  "message.read",
  "message.inbound",
  "message.reaction",
  "message.edited",
  "message.unsent",
  "payment.request.paid",
  "payment.request.expired",
  "facetime.incoming",
  "facetime.status_changed",
]);

/** The records that a test made or saw. */
interface Names {
  /** The code of a message's id, such as `sent1.id`. */
  messages: Map<string, string>;
  /** The code of a payment request's id. */
  payments: Map<string, string>;
  /** The variable of a phone, by its number. */
  phones: Map<string, string>;
  /** The variable of the last event of each type that no known record leads to. */
  last: Map<string, string>;
  /** Messages that an action of the recording made, or that a payment request made: no event makes them again. */
  made: ReadonlySet<string>;
  count: number;
}

/** The test, which runs against the service at `baseUrl`. */
export function testOf(steps: readonly Step[], title: string, baseUrl: string): string {
  const names: Names = {
    messages: new Map(),
    payments: new Map(),
    phones: new Map(),
    last: new Map(),
    made: new Set(steps.flatMap(madeBy)),
    count: 0,
  };
  const body = steps.flatMap((step) => ("saw" in step ? linesOfEvent(step.saw, names) : linesOfAct(step, names)));
  const phones = [...names.phones].map(([number, name]) => `const ${name} = tightbeam.sandbox.phone(${json(number)});`);
  return `${imported("assert", "node:assert/strict")}
${imported("{ test }", "node:test")}
${imported("{ type EventType, Tightbeam }", "@tightbeam/sdk")}

// The key is in TIGHTBEAM_API_KEY.
const tightbeam = new Tightbeam({ baseUrl: ${json(baseUrl)} });
${phones.map((line) => `${line}\n`).join("")}
/** The first event that matches; fails after ten seconds. */
async function seen<Type extends EventType>(query: { type: Type; messageId?: string; after?: string | undefined }) {
  const event = await tightbeam.sandbox.wait<Type>({ ...query, timeoutSeconds: 10 });
  assert.ok(event, \`no \${query.type} came\`);
  return event;
}

test(${json(title)}, async () => {
  const start = (await tightbeam.events.list({ limit: 1 })).events[0];
${body.map((line) => (line === "" ? "" : `  ${line}`)).join("\n")}
});
`;
}

function madeBy(step: Step): string[] {
  if (!("saw" in step)) return "id" in step ? [step.id] : [];
  return step.saw.type === "payment.request.created"
    ? [(step.saw as Event<"payment.request.created">).data.messageId]
    : [];
}

const imported = (names: string, from: string): string => `import ${names} from ${json(from)};`;

const json = (value: unknown): string => JSON.stringify(value);

/** An object literal; its values are code, and those that are undefined are left out. */
function literal(fields: Record<string, string | undefined>): string {
  const given = Object.entries(fields).filter(([, code]) => code !== undefined);
  return `{ ${given.map(([name, code]) => `${name}: ${code}`).join(", ")} }`;
}

/** The code of a value; undefined for none. */
const code = (value: unknown): string | undefined => (value === undefined ? undefined : json(value));

/** The code of an id: of a record that the test has, else the id as it was. */
const idCode = (id: string, known: ReadonlyMap<string, string>): string => known.get(id) ?? json(id);

function phoneName(number: string, { phones }: Names): string {
  const name = phones.get(number) ?? (phones.size === 0 ? "phone" : `phone${phones.size + 1}`);
  phones.set(number, name);
  return name;
}

function nextName(prefix: string, names: Names): string {
  names.count += 1;
  return `${prefix}${names.count}`;
}

function linesOfAct(act: PhoneAct, names: Names): string[] {
  const phone = phoneName(act.number, names);
  switch (act.does) {
    case "write": {
      const { text, replyTo, channel, attachments, to } = act.message;
      const message = literal({
        text: code(text),
        attachments: code(attachments),
        replyTo: replyTo === undefined ? undefined : idCode(replyTo, names.messages),
        to: code(to),
        channel: code(channel),
      });
      return arrival(act.id, "reply", `${phone}.write(${message})`, names);
    }
    case "pay": {
      const { amount, requestId } = act.payment;
      const payment = literal({
        amount: code(amount),
        requestId: requestId === undefined ? undefined : idCode(requestId, names.payments),
      });
      return arrival(act.id, "paid", `${phone}.pay(${payment})`, names);
    }
    case "react": {
      const { messageId, type } = act.reaction;
      return ["", `await ${phone}.react({ messageId: ${idCode(messageId, names.messages)}, type: ${json(type)} });`];
    }
    case "call":
      return ["", `await ${phone}.call(${json(act.call)});`];
    case "set":
      return ["", `await ${phone}.change(${json(act.settings)});`];
  }
}

/** An action that makes a message, and the event that tells of it. */
function arrival(id: string, prefix: string, call: string, names: Names): string[] {
  const name = nextName(prefix, names);
  names.messages.set(id, `${name}.id`);
  return ["", `const ${name} = await ${call};`, `await seen({ type: "message.inbound", messageId: ${name}.id });`];
}

function linesOfEvent(event: Event, names: Names): string[] {
  const { type } = event;
  const data = event.data as { messageId?: string | null; to?: string; text?: string | null; status?: string };
  if (type === "payment.request.created") return linesOfRequest(event as Event<"payment.request.created">, names);
  const id = data.messageId ?? null;
  if (type === "message.queued" && id !== null) return linesOfSend(id, data, names);
  if (!AWAITED.has(type) || (type === "message.inbound" && id !== null && names.made.has(id))) return [];
  const known = id === null ? undefined : names.messages.get(id);
  if (known !== undefined) return [`await seen({ type: ${json(type)}, messageId: ${known} });`];
  const name = nextName("event", names);
  const lines = [`const ${name} = await seen({ type: ${json(type)}, after: ${names.last.get(type) ?? "start?"}.id });`];
  names.last.set(type, name);
  if (type === "message.inbound") {
    if (id !== null) names.messages.set(id, `${name}.data.messageId`);
    lines.push(`assert.equal(${name}.data.text, ${json(data.text ?? null)});`);
  }
  if (type === "facetime.status_changed") lines.push(`assert.equal(${name}.data.status, ${json(data.status)});`);
  return lines;
}

/** Your own program sent a message meanwhile: the test sends it too. A message without text is left out. */
function linesOfSend(id: string, { to, text }: { to?: string; text?: string | null }, names: Names): string[] {
  if (names.messages.has(id) || names.made.has(id) || typeof text !== "string") return [];
  const name = nextName("sent", names);
  names.messages.set(id, `${name}.id`);
  return ["", `const ${name} = await tightbeam.messages.send({ to: ${json(to)}, content: { text: ${json(text)} } });`];
}

function linesOfRequest({ data }: Event<"payment.request.created">, names: Names): string[] {
  const name = nextName("request", names);
  names.payments.set(data.id, `${name}.id`);
  names.messages.set(data.messageId, `${name}.messageId`);
  const request = literal({ to: json(data.to), amount: json(data.amount), note: code(data.note ?? undefined) });
  return ["", `const ${name} = await tightbeam.payments.request(${request});`];
}
