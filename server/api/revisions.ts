/** Routes of actions on a sent message: edit, unsend, react. */

import { EditMessage, React } from "../../contract/messages.ts";
import { IdempotentRequest } from "../../contract/values.ts";
import type { Reacted } from "../../sdk/wire.ts";
import { invalidField } from "../core/error.ts";
import { messageRecord } from "../core/message-record.ts";
import { forRequest } from "../engine/deps.ts";
import type { With } from "../engine/engine-deps.ts";
import { editMessage, reactTo, unsendMessage } from "../engine/messages/actions.ts";
import { type Route, route } from "./route.ts";

export function revisionRoutes(deps: With<"link" | "messageCache" | "providers" | "threadCache">): Route[] {
  return [
    route({
      method: "PUT",
      path: "/v1/messages/:id",
      scope: "messages",
      body: EditMessage,
      async handle({ caller: { customerId }, params: { id }, body, correlationId }) {
        const text = oneOf({ text: body.text, "content.text": body.content?.text });
        const forOldPhones = body.backwardsCompatibilityMessage ?? `Edited to “${text}”`;
        const message = await editMessage(forRequest(deps, correlationId), { customerId, id, text, forOldPhones });
        return { data: messageRecord(message, deps.link) };
      },
    }),
    route({
      method: "POST",
      path: "/v1/messages/:id/unsend",
      scope: "messages",
      body: IdempotentRequest,
      async handle({ caller: { customerId }, params: { id }, idempotencyKey, correlationId }) {
        const message = await unsendMessage(forRequest(deps, correlationId), { customerId, id, idempotencyKey });
        return { data: messageRecord(message, deps.link) };
      },
    }),
    route({
      method: "POST",
      path: "/v1/messages/:id/reactions",
      scope: "messages",
      body: React,
      async handle({ caller: { customerId }, params: { id }, body, idempotencyKey }) {
        const asked = oneOf({ type: body.type, reaction: body.reaction });
        const reaction = await reactTo(deps, { customerId, id, reaction: asked, idempotencyKey });
        const data: Reacted = { messageId: id, reaction };
        return { data };
      },
    }),
  ];
}

/** The value of a field or of its alias; `fields` has the field first. Throws 400 if both are missing or they differ. */
function oneOf<Value>(fields: Record<string, Value | undefined>): Value {
  const [name = "", synonym = ""] = Object.keys(fields);
  const given = Object.values(fields).filter((value) => value !== undefined);
  const [first] = given;
  if (first === undefined) throw invalidField(name, "is required");
  if (given.some((value) => value !== first))
    throw invalidField(synonym, `differs from ${name}, of which it is an alias`);
  return first;
}
