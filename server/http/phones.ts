/** Routes of the sandbox's phones: what a contact does, and how its phone is set (contract 7). */

import type { Reacted, Typing, Message as WireMessage } from "../../sdk/wire.ts";
import { callRecord } from "../core/call.ts";
import type { Message } from "../core/message.ts";
import { messageRecord } from "../core/message-record.ts";
import type { Context } from "../engine/context.ts";
import {
  callFromPhone,
  payFromPhone,
  phonesOf,
  reactFromPhone,
  typeOnPhone,
  writeFromPhone,
} from "../engine/phones.ts";
import { addressParam } from "./address-param.ts";
import { ATTACHMENT_BODY_BYTES_MAX, type Route, route } from "./route.ts";
import { PhoneCall, PhoneMessage, PhonePayment, PhoneReaction, PhoneSettings, PhoneTyping } from "./schemas/sandbox.ts";

/** `/v1/sandbox/phones/:number` and what is under it. */
export function phoneRoutes(context: Context): Route[] {
  return [...messageRoutes(context), ...signRoutes(context), callRoute(context), ...settingsRoutes(context)];
}

function numberOf({ number }: { readonly number: string }): string {
  return addressParam("number", number);
}

function messageRoutes(context: Context): Route[] {
  const recordOf = (message: Message): WireMessage => messageRecord(message, context.link);
  return [
    route({
      method: "POST",
      path: "/v1/sandbox/phones/:number/messages",
      scope: "messages",
      body: PhoneMessage,
      bodyBytesMax: ATTACHMENT_BODY_BYTES_MAX,
      async handle({ caller: { customerId }, params, body, idempotencyKey }) {
        const action = { customerId, number: numberOf(params), idempotencyKey, body };
        return { data: recordOf(await writeFromPhone(context, action)) };
      },
    }),
    route({
      method: "POST",
      path: "/v1/sandbox/phones/:number/payments",
      scope: "messages",
      body: PhonePayment,
      async handle({ caller: { customerId }, params, body, idempotencyKey }) {
        const action = { customerId, number: numberOf(params), idempotencyKey, body };
        return { data: recordOf(await payFromPhone(context, action)) };
      },
    }),
  ];
}

function signRoutes(context: Context): Route[] {
  return [
    route({
      method: "POST",
      path: "/v1/sandbox/phones/:number/typing",
      scope: "messages",
      body: PhoneTyping,
      async handle({ caller: { customerId }, params, body, idempotencyKey }) {
        const action = { customerId, number: numberOf(params), idempotencyKey, body };
        const chat = await typeOnPhone(context, action);
        const data: Typing = { chatId: chat.id, status: body.typing ? "start" : "stop" };
        return { data };
      },
    }),
    route({
      method: "POST",
      path: "/v1/sandbox/phones/:number/reactions",
      scope: "messages",
      body: PhoneReaction,
      async handle({ caller: { customerId }, params, body, idempotencyKey }) {
        const action = { customerId, number: numberOf(params), idempotencyKey, body };
        const message = await reactFromPhone(context, action);
        const data: Reacted = { messageId: message.id, reaction: body.type };
        return { data };
      },
    }),
  ];
}

function callRoute(context: Context): Route {
  return route({
    method: "POST",
    path: "/v1/sandbox/phones/:number/calls",
    scope: "messages",
    body: PhoneCall,
    async handle({ caller: { customerId }, params, body, idempotencyKey }) {
      const action = { customerId, number: numberOf(params), idempotencyKey, body };
      return { data: callRecord(await callFromPhone(context, action)) };
    },
  });
}

function settingsRoutes(context: Context): Route[] {
  return [
    route({
      method: "GET",
      path: "/v1/sandbox/phones/:number/settings",
      scope: "messages",
      async handle({ caller: { customerId }, params }) {
        const number = numberOf(params);
        return { data: (await phonesOf(context, customerId, number)).settings(customerId, number) };
      },
    }),
    route({
      method: "PUT",
      path: "/v1/sandbox/phones/:number/settings",
      scope: "messages",
      body: PhoneSettings,
      async handle({ caller: { customerId }, params, body }) {
        const number = numberOf(params);
        return { data: await (await phonesOf(context, customerId, number)).change(customerId, number, body) };
      },
    }),
  ];
}
