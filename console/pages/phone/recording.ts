/** A recording: what somebody did on the phones and what happened, and the test that does the same. Pure. */

import type { RecordedStep } from "../../../sdk/play-steps.ts";
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

/** Events that a test waits for. The others say the same as a later one, depend on time, or follow from calls that are not recorded. */
const AWAITED: ReadonlySet<string> = new Set([
  "message.delivered",
  "message.failed",
  "message.fallback",
  "message.read",
  "message.inbound",
  "message.reaction",
  "payment.request.paid",
  "facetime.incoming",
  "facetime.status_changed",
]);

/** The records that a test made or waited for, each as `"$name"` of its step. */
interface Names {
  messages: Map<string, string>;
  payments: Map<string, string>;
  /** Messages that an action of the recording made, or that a payment request made: no event makes them again. */
  made: ReadonlySet<string>;
  count: number;
}

/** The name of the file that a test is saved as. `.mjs`: it is an ES module in every project. */
export const TEST_FILE = "recorded.test.mjs";

const imported = (names: string, from: string): string => `import ${names} from ${JSON.stringify(from)};`;

/** The file of a test. Its first lines say how to run it against the service at `baseUrl`. */
export function testOf(steps: readonly RecordedStep[], title: string, baseUrl: string): string {
  return `// Recorded on the phone page of Tightbeam: it does what you did, and waits for what happened. In the directory of Tightbeam run
//   npx tightbeam test ${TEST_FILE}
// or in a project of your own, with Node 20.3 or newer and your key:
//   npm install ${baseUrl}/sdk.tgz
//   TIGHTBEAM_URL=${baseUrl} TIGHTBEAM_API_KEY=tb_... node --test ${TEST_FILE}
${imported("{ test }", "node:test")}
${imported("{ playSteps, Tightbeam }", "@tightbeam/sdk")}

const steps = [
${steps.map((step) => `  ${JSON.stringify(step)},`).join("\n")}
];

test(${JSON.stringify(title)}, async (t) => {
  await playSteps(new Tightbeam(), steps, (name, act) => t.test(name, act));
});
`;
}

/** The steps of the test that does what was recorded. */
export function recordedSteps(recorded: readonly Step[]): RecordedStep[] {
  const made = new Set(recorded.flatMap(madeBy));
  const names: Names = { messages: new Map(), payments: new Map(), made, count: 0 };
  return recorded.flatMap((step) => ("saw" in step ? stepsOfEvent(step.saw, names) : stepsOfAct(step, names)));
}

function madeBy(step: Step): string[] {
  if (!("saw" in step)) return "id" in step ? [step.id] : [];
  return step.saw.type === "payment.request.created"
    ? [(step.saw as Event<"payment.request.created">).data.messageId]
    : [];
}

function nextName(prefix: string, names: Names): string {
  names.count += 1;
  return `${prefix}${names.count}`;
}

/** The name of a record that the test has, else the id of one from before the recording. */
function refer(id: string, known: Map<string, string>): string {
  const name = known.get(id) ?? id;
  known.set(id, name);
  return name;
}

function stepsOfAct(act: PhoneAct, names: Names): RecordedStep[] {
  const { number: phone } = act;
  const { messages, payments } = names;
  switch (act.does) {
    case "write": {
      const { replyTo } = act.message;
      const write = replyTo === undefined ? act.message : { ...act.message, replyTo: refer(replyTo, messages) };
      return arrival(act.id, "reply", (as) => ({ phone, write, as }), names);
    }
    case "pay": {
      const { requestId } = act.payment;
      const pay = requestId === undefined ? act.payment : { ...act.payment, requestId: refer(requestId, payments) };
      return arrival(act.id, "paid", (as) => ({ phone, pay, as }), names);
    }
    case "react":
      return [{ phone, react: { ...act.reaction, messageId: refer(act.reaction.messageId, messages) } }];
    case "call":
      return [{ phone, call: act.call }];
    case "set":
      return [{ phone, change: act.settings }];
  }
}

/** An action that makes a message, and the event that reports the message. */
function arrival(id: string, prefix: string, act: (as: string) => RecordedStep, names: Names): RecordedStep[] {
  const as = nextName(prefix, names);
  names.messages.set(id, `$${as}`);
  return [act(as), { event: "message.inbound", of: `$${as}` }];
}

function stepsOfEvent(event: Event, names: Names): RecordedStep[] {
  const { type } = event;
  const data = event.data as { messageId?: string | null; to?: string; text?: string | null; status?: string };
  if (type === "payment.request.created") return stepsOfRequest(event as Event<"payment.request.created">, names);
  const id = data.messageId ?? null;
  if (type === "message.queued" && id !== null) return stepsOfSend(id, data, names);
  if (!AWAITED.has(type) || (type === "message.inbound" && id !== null && names.made.has(id))) return [];
  const of = id === null ? undefined : names.messages.get(id);
  if (of !== undefined) return [{ event: type, of }];
  if (type === "facetime.status_changed") return [{ event: type, data: { status: data.status } }];
  if (id === null) return [{ event: type }];
  // The rest of a message that was sent before the recording does not happen again.
  if (type !== "message.inbound") return [];
  const as = nextName("received", names);
  names.messages.set(id, `$${as}`);
  return [{ event: type, data: { text: data.text ?? null }, as }];
}

/** Your own program sent a message meanwhile: the test sends it too. A message without text is left out. */
function stepsOfSend(id: string, { to, text }: { to?: string; text?: string | null }, names: Names): RecordedStep[] {
  if (names.messages.has(id) || names.made.has(id) || typeof to !== "string" || typeof text !== "string") return [];
  const as = nextName("sent", names);
  names.messages.set(id, `$${as}`);
  return [{ send: { to, content: { text } }, as }];
}

function stepsOfRequest({ data }: Event<"payment.request.created">, names: Names): RecordedStep[] {
  const as = nextName("request", names);
  names.payments.set(data.id, `$${as}`);
  names.messages.set(data.messageId, `$${as}`);
  const { to, amount, note } = data;
  return [{ request: { to, amount, ...(note === null ? {} : { note }) }, as }];
}
