/** The calls of the first steps: those of the README and of the greeting at a terminal. Pure. */

import type { ApiCall } from "../../parts/snippets.ts";

/** A phone of the sandbox that does nothing by itself. */
const CONTACT = "+15005550199";

/** The first message. */
export const HELLO = { to: CONTACT, content: { text: "Are you there?" } };

/** The contact's answer. */
export const REPLY = { text: "Yes, I am" };

/** Sends the message. */
export const SEND: ApiCall = {
  method: "POST",
  path: "/v1/messages",
  body: HELLO,
  typescript: `tightbeam.messages.send(${JSON.stringify(HELLO)})`,
  cli: `send ${CONTACT} "${HELLO.content.text}"`,
};

/** Answers it as the contact. */
export const ANSWER: ApiCall = {
  method: "POST",
  path: `/v1/sandbox/phones/${CONTACT}/messages`,
  body: REPLY,
  typescript: `tightbeam.sandbox.phone("${CONTACT}").write(${JSON.stringify(REPLY)})`,
  cli: `sandbox phone ${CONTACT} say "${REPLY.text}"`,
};

/** Looks at the webhooks. */
export const READ_INBOX: ApiCall = {
  method: "GET",
  path: "/v1/sandbox/inbox",
  typescript: "tightbeam.sandbox.inbox.get()",
  cli: "inbox",
};
