/** The steps that make each type of event happen in the sandbox: for `tightbeam trigger` and for the console. */

import type { Tightbeam } from "./client.ts";
import { TightbeamError } from "./errors.ts";
import type { AttachmentInput, EventType, SendMessage } from "./wire.ts";

/** The way to make an event of one type happen. */
export interface Trigger {
  /** The steps, in words. */
  steps: string;
  /** Takes the steps. Returns the message that the event is about, if the steps made one. */
  run(client: Tightbeam): Promise<{ messageId?: string }>;
}

/** The sandbox's number with these last digits. */
function number(last4: string): string {
  return `+1500555${last4}`;
}

const DELIVERS = number("0100");
const READS = number("0101");
const NO_IMESSAGE = number("0102");
const UNREACHABLE = number("0105");
/** A phone that is set to refuse edits while one is tried. */
const TAKES_NO_EDITS = number("0198");
/** The phone on which "you" are the contact. */
const YOU = number("0199");

const TEXT = "From tightbeam trigger";
/** Far ahead, but within the 30 days that the service accepts. */
const LATER_MS = 86_400_000;
/** Longest wait of a step for the step before it, in seconds: the longest that the service accepts. */
const STEP_SECONDS_MAX = 30;

/** Sends one message, for an event that follows by itself. */
function sends(to: string, steps: string): Trigger {
  return { steps: `send to ${to}${steps}`, run: (client) => send(client, to) };
}

async function send(client: Tightbeam, to: string, more: Partial<SendMessage> = {}): Promise<{ messageId: string }> {
  const { id } = await client.messages.send({ to, content: { text: TEXT }, ...more });
  return { messageId: id };
}

/** Sends a message that is delivered to the recipient's phone. Throws `NOT_YET` if it is not delivered in time. */
async function delivered(
  client: Tightbeam,
  to: string,
  more: Partial<SendMessage> = {},
): Promise<{ messageId: string }> {
  const { messageId } = await send(client, to, more);
  const event = await client.sandbox.wait({
    messageId,
    type: "message.delivered",
    timeoutSeconds: STEP_SECONDS_MAX,
  });
  if (event !== null) return { messageId };
  throw new TightbeamError("NOT_YET", `${messageId} to ${to} was not delivered within ${STEP_SECONDS_MAX} s.`);
}

/** A step on a message that was delivered. */
function then(step: (client: Tightbeam, messageId: string) => Promise<unknown>): Trigger["run"] {
  return async (client) => {
    const sent = await delivered(client, DELIVERS);
    await step(client, sent.messageId);
    return sent;
  };
}

/** Steps that lead to an event which is not about one message. */
function does(steps: string, act: (client: Tightbeam) => Promise<unknown>): Trigger {
  return {
    steps,
    run: async (client) => {
      await act(client);
      return {};
    },
  };
}

async function schedule(client: Tightbeam): Promise<{ messageId: string }> {
  // By the sandbox's clock, which may have been moved.
  const { now } = await client.sandbox.clock.get();
  return send(client, DELIVERS, { scheduledAt: new Date(Date.parse(now) + LATER_MS).toISOString() });
}

async function makeGroup(client: Tightbeam): Promise<string> {
  const { id } = await client.chats.createGroup({ name: "Trigger", participants: [DELIVERS, READS] });
  return id;
}

async function requestPayment(client: Tightbeam, to: string, more: { expiresInSeconds?: number } = {}) {
  return await client.payments.request({ to, amount: "25.00", note: TEXT, ...more });
}

/** A GIF of one transparent pixel. */
const PICTURE = "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7";

/** An audio message: a WAV without sound. */
const SILENCE: AttachmentInput = {
  type: "base64",
  data: "UklGRgAAAABXQVZFZm10IA==",
  filename: "silence.wav",
  isAudioMessage: true,
};

/** Makes an edit that the phone refuses. Throws any other error. */
async function refusedEdit(client: Tightbeam): Promise<{ messageId: string }> {
  const sent = await delivered(client, TAKES_NO_EDITS);
  const phone = client.sandbox.phone(TAKES_NO_EDITS);
  await phone.change({ edits: false });
  try {
    await client.messages.edit(sent.messageId, { text: `${TEXT}, edited` });
  } catch (error) {
    if (!(error instanceof TightbeamError) || error.code !== "EDIT_FAILED") throw error;
  } finally {
    await phone.change({ edits: true });
  }
  return sent;
}

async function stopAndResume(client: Tightbeam): Promise<void> {
  const { resume } = await client.optOuts.settings();
  await client.sandbox.phone(YOU).write({ text: "STOP" });
  await client.sandbox.phone(YOU).write({ text: resume[0] ?? "START" });
}

/** The trigger of every event type. */
export const TRIGGERS: Readonly<Record<EventType, Trigger>> = {
  "message.queued": sends(DELIVERS, ""),
  "message.sent": sends(DELIVERS, ""),
  "message.delivered": sends(DELIVERS, ""),
  "message.read": sends(READS, ", who reads it"),
  "message.failed": sends(UNREACHABLE, ", who cannot be reached"),
  "message.fallback": sends(NO_IMESSAGE, ", who has no iMessage"),
  "message.inbound": {
    steps: `${YOU} writes to your default number`,
    run: async (client) => ({ messageId: (await client.sandbox.phone(YOU).write({ text: TEXT })).id }),
  },
  "message.scheduled": { steps: `send to ${DELIVERS} in a day, which stays scheduled`, run: schedule },
  "message.schedule_cancelled": {
    steps: `send to ${DELIVERS} in a day, and cancel that`,
    run: async (client) => {
      const scheduled = await schedule(client);
      await client.messages.cancel(scheduled.messageId);
      return scheduled;
    },
  },
  "message.reaction": {
    steps: `send to ${DELIVERS}, whose phone reacts with love`,
    run: then((client, messageId) => client.sandbox.phone(DELIVERS).react({ messageId, type: "love" })),
  },
  "message.edited": {
    steps: `send to ${DELIVERS}, and edit that`,
    run: then((client, messageId) => client.messages.edit(messageId, { text: `${TEXT}, edited` })),
  },
  "message.edit_failed": {
    steps: `send to ${TAKES_NO_EDITS}, whose phone is set to refuse edits, and edit that`,
    run: refusedEdit,
  },
  "message.unsent": {
    steps: `send to ${DELIVERS}, and unsend that`,
    run: then((client, messageId) => client.messages.unsend(messageId)),
  },
  "message.deleted": {
    steps: `send to ${DELIVERS}, and delete that`,
    run: then((client, messageId) => client.messages.delete(messageId)),
  },
  "message.audio_kept": {
    steps: `send an audio message to ${DELIVERS}, who keeps it`,
    run: async (client) => {
      const sent = await delivered(client, DELIVERS, { attachments: [SILENCE] });
      await client.sandbox.phone(DELIVERS).keepAudio(sent);
      return sent;
    },
  },
  "message.attachments_added": {
    steps: `${YOU} writes START, a word that waits for no file, with a picture that comes a moment later`,
    run: async (client) => {
      const attachments: AttachmentInput[] = [{ type: "base64", data: PICTURE, filename: "picture.gif" }];
      const { id } = await client.sandbox.phone(YOU).write({ text: "START", attachments, attachmentsAfterMs: 100 });
      return { messageId: id };
    },
  },
  "typing.indicator": does(`send to ${YOU}, who starts to type, and stops`, async (client) => {
    await delivered(client, YOU);
    await client.sandbox.phone(YOU).type({ typing: true });
    await client.sandbox.phone(YOU).type({ typing: false });
  }),
  "payment.request.created": does(`request $25.00 of ${YOU}`, (client) => requestPayment(client, YOU)),
  "payment.request.paid": does(`request $25.00 of ${number("0112")}, who pays`, (client) =>
    requestPayment(client, number("0112")),
  ),
  "payment.request.cancelled": does(`request $25.00 of ${YOU}, and cancel that`, async (client) =>
    client.payments.cancel((await requestPayment(client, YOU)).id),
  ),
  "payment.request.expired": does(`request $25.00 of ${number("0113")} for one second; no clock is moved`, (client) =>
    requestPayment(client, number("0113"), { expiresInSeconds: 1 }),
  ),
  "facetime.incoming": does(`${YOU} rings, and gives up`, async (client) => {
    await client.sandbox.phone(YOU).call({ action: "ring" });
    await client.sandbox.phone(YOU).call({ action: "miss" });
  }),
  "facetime.status_changed": does(`${YOU} rings, is answered, and hangs up`, async (client) => {
    for (const action of ["ring", "answer", "hangup"] as const) await client.sandbox.phone(YOU).call({ action });
  }),
  "chat.participant.added": does(`make a group, and add ${YOU}`, async (client) =>
    client.chats.addParticipant(await makeGroup(client), YOU),
  ),
  "chat.participant.left": does("make a group, and leave it", async (client) =>
    client.chats.leave(await makeGroup(client)),
  ),
  "chat.title.changed": does("make a group, and rename it", async (client) =>
    client.chats.rename(await makeGroup(client), "Triggered"),
  ),
  "chat.photo.changed": does(`make a group, to which ${READS} gives another photo`, async (client) =>
    client.sandbox.phone(READS).changePhoto({ chatId: await makeGroup(client) }),
  ),
  "contact.opted_out": does(`${YOU} writes STOP, and the word that ends it`, stopAndResume),
  "contact.opted_in": does(`${YOU} writes STOP, and the word that ends it`, stopAndResume),
  "webhook.test": does("test the webhook that is configured", (client) => client.webhooks.test()),
};
