/** Routes of the sandbox's phones: the actions of a contact, and the settings of its phone. */

import {
  PhoneCall,
  PhoneGroupPhoto,
  PhoneKeptAudio,
  PhoneMessage,
  PhonePayment,
  PhoneReaction,
  PhoneTyping,
  SetPhoneSettings,
} from "../../contract/sandbox.ts";
import type { Reacted, Typing, Message as WireMessage } from "../../sdk/wire.ts";
import { callRecord } from "../core/call.ts";
import { chatRecord } from "../core/chat.ts";
import type { CustomerId } from "../core/id.ts";
import type { Message } from "../core/message.ts";
import { messageRecord } from "../core/message-record.ts";
import { parseReaction } from "../core/reaction.ts";
import type { EngineDeps, With } from "../engine/engine-deps.ts";
import {
  callFromPhone,
  changePhone,
  changePhotoFromPhone,
  keepAudioOnPhone,
  payFromPhone,
  phonesOf,
  reactFromPhone,
  typeOnPhone,
  writeFromPhone,
} from "../engine/sandbox/phones.ts";
import { findLastMessage } from "../store/chats.ts";
import { addressParam } from "./address-param.ts";
import { type ApiRequest, ATTACHMENT_BODY_BYTES_MAX, type Caller, type Route, route } from "./route.ts";

export function phoneRoutes(deps: EngineDeps): Route[] {
  return [...messageRoutes(deps), ...signRoutes(deps), photoRoute(deps), callRoute(deps), ...settingsRoutes(deps)];
}

function numberOf({ number }: { readonly number: string }): string {
  return addressParam("number", number);
}

function messageRoutes(deps: EngineDeps): Route[] {
  const recordOf = (message: Message): WireMessage => messageRecord(message, deps.link);
  return [
    route({
      method: "POST",
      path: "/v1/sandbox/phones/:number/messages",
      scope: "messages",
      body: PhoneMessage,
      bodyBytesMax: ATTACHMENT_BODY_BYTES_MAX,
      async handle(request) {
        const action = actionOf(request);
        return { data: recordOf(await writeFromPhone(deps, action)) };
      },
    }),
    route({
      method: "POST",
      path: "/v1/sandbox/phones/:number/payments",
      scope: "messages",
      body: PhonePayment,
      async handle(request) {
        const action = actionOf(request);
        return { data: recordOf(await payFromPhone(deps, action)) };
      },
    }),
    route({
      method: "POST",
      path: "/v1/sandbox/phones/:number/audio-kept",
      scope: "messages",
      body: PhoneKeptAudio,
      async handle(request) {
        return { data: recordOf(await keepAudioOnPhone(deps, actionOf(request))) };
      },
    }),
  ];
}

/** The action on a phone that a request asks for. */
function actionOf<Body>({
  caller: { customerId },
  params,
  body,
  idempotencyKey,
  gone,
}: Pick<
  ApiRequest<Body, unknown, { number: string }, Caller<CustomerId>>,
  "caller" | "params" | "body" | "idempotencyKey" | "gone"
>) {
  return { customerId, number: numberOf(params), idempotencyKey, body, gone };
}

function signRoutes(deps: EngineDeps): Route[] {
  return [
    route({
      method: "POST",
      path: "/v1/sandbox/phones/:number/typing",
      scope: "messages",
      body: PhoneTyping,
      async handle(request) {
        const action = actionOf(request);
        const chat = await typeOnPhone(deps, action);
        const data: Typing = { chatId: chat.id, status: action.body.typing ? "start" : "stop" };
        return { data };
      },
    }),
    route({
      method: "POST",
      path: "/v1/sandbox/phones/:number/reactions",
      scope: "messages",
      body: PhoneReaction,
      async handle(request) {
        const action = actionOf(request);
        const message = await reactFromPhone(deps, action);
        const data: Reacted = {
          messageId: message.id,
          reaction: parseReaction(action.body.type)?.text ?? action.body.type,
        };
        return { data };
      },
    }),
  ];
}

function photoRoute(deps: With<"configCache" | "providers">): Route {
  return route({
    method: "POST",
    path: "/v1/sandbox/phones/:number/group-photo",
    scope: "messages",
    body: PhoneGroupPhoto,
    async handle(request) {
      const chat = await changePhotoFromPhone(deps, actionOf(request));
      return { data: chatRecord(chat, await findLastMessage(deps.store.db, chat.id)) };
    },
  });
}

function callRoute(deps: With<"configCache" | "providers">): Route {
  return route({
    method: "POST",
    path: "/v1/sandbox/phones/:number/calls",
    scope: "messages",
    body: PhoneCall,
    async handle(request) {
      const action = actionOf(request);
      return { data: callRecord(await callFromPhone(deps, action)) };
    },
  });
}

function settingsRoutes(deps: With<"configCache" | "providers">): Route[] {
  return [
    route({
      method: "GET",
      path: "/v1/sandbox/phones/:number/settings",
      scope: "messages",
      async handle({ caller: { customerId }, params }) {
        const number = numberOf(params);
        return { data: (await phonesOf(deps, customerId, number)).settings(customerId, number) };
      },
    }),
    route({
      method: "PUT",
      path: "/v1/sandbox/phones/:number/settings",
      scope: "messages",
      body: SetPhoneSettings,
      async handle({ caller: { customerId }, params, body }) {
        return { data: await changePhone(deps, { customerId, number: numberOf(params) }, body) };
      },
    }),
  ];
}
