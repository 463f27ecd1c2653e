/** Renders the form that sends an operation's request from its page. It stays hidden without the script that sends it. Pure. */

import type { PublishedOperation } from "../server/api/openapi/document.ts";
import type { Parameter } from "../server/api/openapi/parameters.ts";
import { html, type Markup } from "./markup.ts";

/** An operation with its address. */
interface TriedOperation {
  method: string;
  template: string;
  operation: PublishedOperation;
}

/** The form, with the examples of the reference filled in. */
export function tryForm({ method, template, operation }: TriedOperation): Markup {
  const named = operation.parameters.filter((one): one is Parameter => "name" in one);
  const fields = named.filter((one) => one.in !== "header").map(fieldOf);
  return html`<details class="try" hidden><summary>Try it</summary>
<form data-method="${method}" data-template="${template}" data-scope="${operation["x-scope"] ?? ""}">
<p class="who" role="status"></p>
${fields}
${bodyField(operation)}
<p><button class="button primary" type="submit">Send ${method}</button></p>
<div class="answer" role="status"></div>
</form></details>`;
}

function fieldOf({ name, in: place, required = false, schema, example }: Parameter): Markup {
  // An optional parameter is sent only if the reader fills it in.
  const filled = required && example !== undefined ? String(example) : "";
  const label = html`<span><code>${name}</code>${required ? html` <em>required</em>` : null}</span>`;
  const choices = choicesOf(schema);
  if (choices === null) {
    const hint = example === undefined ? "" : String(example);
    return html`<label>${label}<input name="${name}" data-in="${place}" value="${filled}" placeholder="${hint}" autocomplete="off" spellcheck="false"></label>`;
  }
  const options = ["", ...choices].map(
    (choice) => html`<option value="${choice}"${choice === filled ? html` selected` : null}>${choice}</option>`,
  );
  return html`<label>${label}<select name="${name}" data-in="${place}">${options}</select></label>`;
}

function choicesOf({ type, ...schema }: Parameter["schema"]): string[] | null {
  if (schema.enum !== undefined) return schema.enum.map(String);
  return type === "boolean" ? ["true", "false"] : null;
}

function bodyField({ requestBody }: PublishedOperation): Markup | null {
  const content = requestBody?.content["application/json"];
  if (content === undefined) return null;
  const text = content.example === undefined ? "" : JSON.stringify(content.example, null, 2);
  const rows = Math.min(16, Math.max(3, text.split("\n").length));
  return html`<label><span>Request body</span><textarea name="" data-in="body" rows="${rows}" spellcheck="false">${text}</textarea></label>`;
}
