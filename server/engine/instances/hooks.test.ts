import assert from "node:assert/strict";
import { type TestContext as NodeTest, test } from "node:test";
import { testContext } from "../../../test/support/context.ts";
import { ScriptedProvider } from "../../../test/support/provider.ts";
import { ApiError } from "../../core/error.ts";
import type { HookRequest, HookResponse } from "../../providers/provider.ts";
import { hookUrl, SignedLinks } from "../signed-links.ts";
import { type IncomingHook, receiveHook } from "./hooks.ts";

class Hooked extends ScriptedProvider {
  readonly received: HookRequest[] = [];

  async receive(request: HookRequest): Promise<HookResponse> {
    this.received.push(request);
    return { status: 204 };
  }
}

async function stage(t: NodeTest) {
  const made = await testContext({ deps: { publicUrl: () => "https://tb.example/under" } });
  t.after(() => made.close());
  const { deps, instance, providers } = made;
  const token = deps.signedLinks.hookToken(instance.id);
  const asked: IncomingHook = {
    id: instance.id,
    token,
    rest: "/status/a%20b",
    query: "?x=1",
    method: "POST",
    headers: {},
    body: new Uint8Array(3),
  };
  const refusal = async (more: Partial<IncomingHook>) => {
    const error = await receiveHook(deps, { ...asked, ...more }).then(
      () => null,
      (thrown: unknown) => thrown,
    );
    assert.ok(error instanceof ApiError);
    return [error.code, error.message];
  };
  return { deps, instance, providers, asked, refusal };
}

test("a provider receives the request to its hook, with the address that its peer was given", async (t) => {
  const { deps, instance, providers, asked } = await stage(t);
  const provider = new Hooked();
  providers.set(instance.id, provider);
  assert.deepEqual(await receiveHook(deps, asked), { status: 204 });
  const url = `${hookUrl(deps, instance.id)}/status/a%20b?x=1`;
  assert.ok(url.startsWith(`https://tb.example/under/hooks/${instance.id}/`));
  const { method, headers, body } = asked;
  assert.deepEqual(provider.received, [{ method, headers, body, path: "/status/a%20b", url }]);
});

test("an unknown hook, a wrong token and a provider without hooks get the same 404, and no provider is called", async (t) => {
  const { deps, instance, providers, asked, refusal } = await stage(t);
  const provider = new Hooked();
  providers.set(instance.id, provider);
  const { token } = asked;
  const other = deps.signedLinks.hookToken("inst_00000000-0000-7000-8000-0000000000ff");
  const nothing = ["NOT_FOUND", "There is nothing at this address."];
  for (const wrong of [
    { id: "inst_00000000-0000-7000-8000-0000000000ff", token: other },
    { id: "" },
    { id: "__proto__" },
    { token: other },
    { token: "" },
    { token: token.slice(0, -1) },
    { token: `${token}A` },
    { token: token.toUpperCase() },
    { token: "\u{10ffff}".repeat(token.length) },
  ]) {
    assert.deepEqual(await refusal(wrong), nothing, JSON.stringify(wrong));
  }
  assert.deepEqual(provider.received, []);
  providers.set(instance.id, new ScriptedProvider());
  assert.deepEqual(await refusal({}), nothing);
});

test("a hook responds with 503 while its instance does not run or the service starts", async (t) => {
  const { deps, instance, providers, asked, refusal } = await stage(t);
  assert.equal((await refusal({}))[0], "SERVICE_UNAVAILABLE");
  const provider = new Hooked();
  providers.set(instance.id, provider);
  const starting = { ...deps, signedLinks: new SignedLinks() };
  await assert.rejects(receiveHook(starting, asked), { code: "SERVICE_UNAVAILABLE" });
  await assert.rejects(receiveHook(starting, { ...asked, id: "inst_1" }), { code: "SERVICE_UNAVAILABLE" });
  assert.deepEqual(provider.received, []);
});
