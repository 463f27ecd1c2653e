/** The calls of the API that a row of the Wire can be asked with again. Pure. */

import { type ApiCall, quote } from "../parts/snippets.ts";

/** A logged request as a call; `body` is undefined if there was none. */
export function callOf(method: string, path: string, body: unknown): ApiCall {
  const isSend = method === "POST" && path === "/v1/messages";
  const json = body === undefined ? null : JSON.stringify(body);
  const options = json === null ? "" : `, { body: ${json} }`;
  return {
    method,
    path,
    ...(json === null ? {} : { body }),
    typescript:
      isSend && json !== null
        ? `tightbeam.messages.send(${json})`
        : `tightbeam.request(${JSON.stringify(method)}, ${JSON.stringify(path)}${options})`,
    cli: `api ${method.toLowerCase()} ${quote(path)}${json === null ? "" : ` -d ${quote(json)}`}`,
  };
}

/** Reads a message. */
export function messageCall(id: string): ApiCall {
  return {
    method: "GET",
    path: `/v1/messages/${id}`,
    typescript: `tightbeam.messages.get("${id}")`,
    cli: `messages get ${id}`,
  };
}

/** Reads an event. */
export function eventCall(id: string): ApiCall {
  return {
    method: "GET",
    path: `/v1/events/${id}`,
    typescript: `tightbeam.events.get("${id}")`,
    cli: `events get ${id}`,
  };
}

/** Makes one more attempt of a delivery. */
export function retryCall(id: string): ApiCall {
  return {
    method: "POST",
    path: `/v1/webhooks/deliveries/${id}/retry`,
    typescript: `tightbeam.webhooks.deliveries.retry("${id}")`,
    cli: `webhooks retry ${id}`,
  };
}
