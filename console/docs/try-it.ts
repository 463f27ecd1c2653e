/** Sends the requests of the reference from its pages: really, with the session of this browser. */

import type { Session } from "../../sdk/wire.ts";
import { readSession } from "../api/session.ts";
import { readPreference } from "../parts/kept.ts";
import { all, element } from "./page.ts";
import { errorOf, type FormValue, requestOf, whoSends } from "./try-request.ts";

/** The end of a long response is left out. */
const SHOWN_LENGTH_MAX = 50_000;

/** The session, read when the first form is opened. A read that failed is repeated by the next form. */
let session: Promise<Session | null> | undefined;

/** Shows the forms. */
export function startTrying(): void {
  for (const details of all("details.try")) {
    const form = details.querySelector("form");
    if (!(details instanceof HTMLDetailsElement) || form === null) continue;
    details.hidden = false;
    details.addEventListener("toggle", () => {
      if (details.open) void introduce(form);
    });
    const trial = new Trial(form);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      void trial.toggle();
    });
  }
}

/** Says who sends, and how to sign in. */
async function introduce(form: HTMLFormElement): Promise<void> {
  const scope = form.dataset.scope ?? "";
  const who = form.querySelector(".who");
  session ??= readSession();
  try {
    const known = scope === "" ? null : await session;
    const advice =
      known === null && scope !== ""
        ? [element("a", { href: "/" }, "Sign in to the console"), ", and come back. "]
        : [];
    if (known === null) session = undefined;
    who?.replaceChildren(whoSends(known, scope), " ", ...advice, `The request is real: it goes to ${location.origin}.`);
  } catch {
    session = undefined;
    who?.replaceChildren(`The service at ${location.origin} does not respond.`);
  }
}

/** One form, and the request that it sends. */
class Trial {
  readonly #form: HTMLFormElement;
  readonly #answer: Element | null;
  readonly #button: HTMLButtonElement | null;
  #running: AbortController | null = null;

  constructor(form: HTMLFormElement) {
    this.#form = form;
    this.#answer = form.querySelector(".answer");
    this.#button = form.querySelector("button");
  }

  /** Sends the request, or ends the one that runs. */
  async toggle(): Promise<void> {
    if (this.#running !== null) return this.#running.abort();
    const request = requestOf(this.#form.dataset.template ?? "", valuesOf(this.#form));
    if ("problem" in request) {
      this.#say("bad", request.problem);
      return;
    }
    const label = this.#button?.textContent ?? "";
    const running = new AbortController();
    this.#running = running;
    if (this.#button !== null) this.#button.textContent = "Stop";
    try {
      await this.#send(request.path, request.body, running.signal);
    } catch {
      if (running.signal.aborted) this.#note("You stopped the request.");
      else this.#say("bad", `The service at ${location.origin} did not respond. Is it running?`);
    } finally {
      this.#running = null;
      if (this.#button !== null) this.#button.textContent = label;
    }
  }

  async #send(path: string, body: string | null, signal: AbortSignal): Promise<void> {
    const startedAt = performance.now();
    this.#say("", "Sending…");
    const headers = { ...(await this.#headers()), ...(body === null ? {} : { "Content-Type": "application/json" }) };
    const method = this.#form.dataset.method ?? "GET";
    const response = await fetch(path, {
      method,
      headers,
      body,
      signal,
      credentials: "same-origin",
      redirect: "manual",
    });
    const took = () => `${Math.round(performance.now() - startedAt)} ms`;
    const logged = this.#loggedId(method, response);
    const status = `${response.status} ${response.statusText}`.trim();
    const tone = response.ok ? "good" : "bad";
    const type = response.headers.get("content-type") ?? "";
    const code = this.#say(tone, `${status} · ${took()}`);
    if (!/json|text\//.test(type)) {
      const { size } = await response.blob();
      code.textContent = size === 0 ? "" : `${size.toLocaleString("en-US")} bytes of ${type || "an unknown type"}`;
    } else {
      await readInto(code, response);
      const line = `${status} · ${took()}`;
      this.#say(tone, line, code.textContent ?? "", await logged);
    }
  }

  /** The id of a request that the log has; null for any other: the log keeps no reads of a session, and may be off. */
  async #loggedId(method: string, { headers }: Response): Promise<string | null> {
    const id = headers.get("x-request-id");
    if (id === null || method === "GET" || !this.#form.dataset.scope) return null;
    try {
      const found = await fetch(`/v1/requests/${encodeURIComponent(id)}`, { headers: await this.#headers() });
      return found.ok ? id : null;
    } catch {
      return null;
    }
  }

  /** The headers by which a session may change something, and by which an admin's acts for a customer. */
  async #headers(): Promise<Record<string, string>> {
    const scope = this.#form.dataset.scope ?? "";
    session ??= readSession();
    const known = scope === "" ? null : await session;
    if (known === null) return {};
    const customer = readPreference("customer");
    const isActing = known.scope === "admin" && scope !== "admin" && Boolean(customer);
    return { "X-CSRF-Token": known.csrfToken, ...(isActing ? { "Tightbeam-Customer": String(customer) } : {}) };
  }

  /** Shows a line and the text of a response. Returns the element of the text. */
  #say(tone: string, line: string, text = "", requestId: string | null = null): HTMLElement {
    const body = parsed(text);
    const error = errorOf(body);
    const code = element("code", {}, body === undefined ? text : JSON.stringify(body, null, 2));
    const log = element("a", { href: `/r/${encodeURIComponent(requestId ?? "")}` }, "in the log");
    this.#answer?.replaceChildren(
      element("p", { class: `status ${tone}` }, line, ...(requestId === null ? [] : [" · ", log])),
      ...(error === null ? [] : [element("p", {}, error.message)]),
      element("pre", { tabindex: "0" }, code),
    );
    return code;
  }

  #note(text: string): void {
    this.#answer?.append(element("p", {}, text));
  }
}

function valuesOf(form: HTMLFormElement): FormValue[] {
  return all("[data-in]", form).map((field) => ({
    place: field.dataset.in ?? "",
    name: field.getAttribute("name") ?? "",
    value: (field as HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement).value,
  }));
}

function parsed(text: string): unknown {
  try {
    return text === "" ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Shows a response as it comes in: one of events has no end. */
async function readInto(code: HTMLElement, response: Response): Promise<void> {
  const decoder = new TextDecoder();
  for await (const part of response.body ?? []) {
    if ((code.textContent ?? "").length < SHOWN_LENGTH_MAX) code.append(decoder.decode(part, { stream: true }));
  }
}
