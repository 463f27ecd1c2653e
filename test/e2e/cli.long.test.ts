/** Every command that calls a route, on the real service, with its arguments, options and responses. */

import assert from "node:assert/strict";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { emptyDirectory, envFor, runCli, runOnTerminal } from "../support/cli.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { until } from "../support/wait.ts";

const ADA = "+15005550100";
const YOU = "+15005550199";

let api: TestService;
let env: Record<string, string>;

before(async () => {
  api = await startTestService({}, { inThreads: true });
  env = { TIGHTBEAM_URL: api.url, TIGHTBEAM_API_KEY: api.key, TIGHTBEAM_ADMIN_KEY: api.adminKey };
});

after(() => api.stop());

/** The output of a command on a terminal; it must succeed and write nothing to standard error. */
async function shown(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runOnTerminal(args, env);
  assert.deepEqual([code, stderr], [0, ""], args.join(" "));
  return stdout;
}

/** The JSON output of a command. */
// biome-ignore lint/suspicious/noExplicitAny: answers are read field by field, and a test fails on what is not there.
async function answered(...args: string[]): Promise<any> {
  return JSON.parse(await shown(...args, "--json"));
}

/** Exit code and the first line on stderr of a command that does not succeed. */
async function refused(...args: string[]): Promise<[number | null, string]> {
  const { code, stdout, stderr } = await runOnTerminal(args, env);
  assert.equal(stdout, "");
  return [code, stderr.split("\n")[0] ?? ""];
}

async function delivered(to: string): Promise<string> {
  const { id } = await answered("send", to, "Hello");
  return id;
}

test("chats: threads by address, and groups from their making to leaving them", async () => {
  await delivered(ADA);
  assert.match(await shown("chats", "list"), /^ID +KIND[\s\S]+chat_\S+ +one-to-one +imessage/);
  const thread = await answered("chats", "get", ADA);
  assert.equal((await answered("chats", "messages", ADA))[0].chatId, thread.id);
  assert.match(await shown("chats", "read", thread.id), /kind +one-to-one/);
  await shown("chats", "unread", thread.id);
  assert.equal(await shown("chats", "typing", ADA), `typing start in ${thread.id}\n`);
  assert.equal(await shown("chats", "typing", ADA, "stop"), `typing stop in ${thread.id}\n`);
  const { id } = await answered("chats", "create-group", ADA, "+15005550101", "--name", "Lunch");
  assert.deepEqual((await answered("chats", "list", "--limit", "1"))[0].id, id);
  assert.match(await shown("chats", "rename", id, "Lunch on Friday"), /name +Lunch on Friday/);
  assert.match(await shown("chats", "add", id, YOU), /with +.*\+15005550199/);
  assert.doesNotMatch(await shown("chats", "remove", id, YOU), /\+15005550199/);
  await shown("chats", "leave", id);
  assert.deepEqual(await refused("chats", "get", "chat_x"), [
    1,
    "error: CONVERSATION_NOT_FOUND There is no conversation chat_x.",
  ]);
});

test("contacts: made, found, changed, imported, deleted", async (t) => {
  const line = ["--phone", ADA, "--first-name", "Ada", "--tags", "vip, london", "--metadata", "crm=7"];
  const { id } = await answered("contacts", "create", ...line);
  assert.match(
    await shown("contacts", "get", id),
    /name +Ada\nphoneNumber +\+15005550100\ntags +vip, london\nmetadata +\{"crm":"7"\}/,
  );
  assert.match(await shown("contacts", "search", "ada"), /con_\S+ +Ada/);
  assert.equal(await shown("contacts", "list", "--tag", "nobody"), "No contacts.\n");
  assert.match(await shown("contacts", "update", id, "--company", "Engines", "--tags", ""), /company +Engines/);
  assert.deepEqual((await answered("contacts", "get", id)).tags, []);
  assert.equal((await refused("contacts", "update", id))[0], 2);
  const file = join(emptyDirectory(t), "people.json");
  writeFileSync(
    file,
    JSON.stringify([{ email: "a@example.com" }, { email: "b@example.com", id: "con_x" }, { phoneNumber: "1" }]),
  );
  const imported = await runOnTerminal(["contacts", "import", file], env);
  assert.equal(imported.code, 1);
  assert.match(imported.stdout, /^2 created, 1 failed\n {2}entry 3: /);
  const all = await answered("contacts", "list", "--all");
  assert.equal(all.length, 3);
  const page = await runOnTerminal(["contacts", "list", "--limit", "2"], env);
  assert.match(page.stderr, /^3 in all\. More with --offset 2, or --all\.\n$/);
  const ids = all.map((contact: { id: string }) => contact.id);
  assert.equal(await shown("contacts", "delete", ...ids), "3 of 3 deleted\n");
  assert.match(await shown("contacts", "facetime", ADA), /available +true/);
});

test("payments: asked for, listed by status, paid on the phone, cancelled", async () => {
  const { id, status, amount } = await answered(
    "payments",
    "request",
    YOU,
    "25.00",
    "--note",
    "Lunch",
    "--expires-in",
    "2h",
  );
  assert.deepEqual([status, amount], ["pending", "25.00"]);
  assert.match(await shown("payments", "list", "--status", "pending"), /pay_\S+ +pending +\$25\.00 +\+15005550199/);
  await until(async () => (await answered("messages", "list", "--to", YOU))[0].status === "delivered");
  await shown("sandbox", "phone", YOU, "pay", "--request", id);
  await until(async () => (await answered("payments", "get", id)).status === "paid");
  assert.match(await shown("payments", "get", id), /paidBy +msg_\S+ \(apple_cash\)/);
  const other = await answered("payments", "request", YOU, "1");
  assert.match(await shown("payments", "cancel", other.id), /status +cancelled[\s\S]+reason +CANCELLED_BY_CALLER/);
  assert.match((await refused("payments", "cancel", other.id))[1], /^error: INVALID_STATUS /);
});

test("messages: edited, unsent and reacted to", async () => {
  const id = await delivered(ADA);
  assert.match(await shown("messages", "edit", id, "See you at 9"), /text +See you at 9/);
  assert.equal(await shown("messages", "react", id, "love"), `love on ${id}\n`);
  assert.equal(await shown("messages", "react", id, "--", "-love"), `-love on ${id}\n`);
  assert.match(await shown("messages", "unsend", id), /status +unsent/);
  assert.match((await refused("messages", "react", id, "hate")).join(), /^1,error: [A-Z_]+ .*emoji/);
});

test("opt-outs: put on the list, and taken off", async () => {
  const [own] = await answered("numbers");
  assert.match(await shown("numbers"), /HEALTH[\s\S]+healthy +yes/);
  await shown("opt-outs", "add", own.phoneNumber, YOU);
  assert.match(await shown("opt-outs", "list"), /\+15005550199 +all your numbers +api/);
  assert.match((await refused("send", YOU, "Hello"))[1], /^error: RECIPIENT_OPTED_OUT /);
  assert.match(await shown("opt-outs", "get", own.phoneNumber, YOU), /by +api/);
  await shown("opt-outs", "remove", own.phoneNumber, YOU);
  assert.equal(await shown("opt-outs", "list"), "Nobody opted out.\n");
});

test("sandbox phone: a contact writes, types, reacts, calls, and is switched off", async () => {
  const phone = (...args: string[]) => shown("sandbox", "phone", YOU, ...args);
  const mine = await delivered(YOU);
  const inbound = await answered("sandbox", "phone", YOU, "say", "Hello", "there", "--reply-to", mine);
  assert.deepEqual(
    [inbound.direction, inbound.content.text, inbound.parentMessageId],
    ["inbound", "Hello there", mine],
  );
  assert.match(await phone("type"), /^typing start in chat_/);
  assert.match(await phone("type", "stop"), /^typing stop in chat_/);
  assert.equal(await phone("react", mine, "laugh"), `laugh on ${mine}\n`);
  assert.equal((await refused("sandbox", "phone", YOU, "react", mine, "hate"))[0], 1);
  const ringing = await answered("sandbox", "phone", YOU, "ring", "--video");
  assert.deepEqual([ringing.status, ringing.isVideo], ["incoming", true]);
  await phone("answer");
  assert.match(await phone("hangup"), /disconnected\n$/);
  assert.match(
    await shown("calls", "list", "--status", "disconnected"),
    new RegExp(`${ringing.id} +disconnected +video`),
  );
  assert.match(await shown("calls", "get", ringing.id), /AT +STATUS\n.+incoming\n.+answered\n.+disconnected/);
  assert.match(await phone("settings", "--online", "off", "--latency", "1s"), /online +off[\s\S]+latency +1000 ms/);
  assert.match(await phone("settings", "--online", "on", "--latency", "0"), /online +on/);
  for (const wrong of [["say"], ["pay"], ["ring", "twice"], ["settings", "off"], ["type", "on"]]) {
    assert.equal((await refused("sandbox", "phone", YOU, ...wrong))[0], 2, wrong.join(" "));
  }
  assert.match(await shown("capabilities", "+15005550102"), /imessage +false[\s\S]+recommendedChannel +sms/);
  assert.match(await shown("contacts", "focus", YOU), /focused +false/);
});

test("sandbox clock, wait, and reset, which is never done unasked", async () => {
  const { id } = await answered("send", ADA, "Later", "--at", new Date(Date.now() + 3_600_000).toISOString());
  assert.match(await shown("sandbox", "clock"), /ahead +not at all/);
  assert.match(await shown("sandbox", "clock", "advance", "2h"), /ahead +7200 s/);
  assert.match(await shown("sandbox", "wait", "--message", id, "--type", "message.delivered"), /message\.delivered/);
  assert.match(await shown("sandbox", "clock", "reset"), /ahead +not at all/);
  assert.match((await refused("sandbox", "wait", "--message", "msg_x", "--timeout", "0"))[1], /^error: NOT_YET /);
  assert.match((await refused("sandbox", "reset"))[1], /--yes/);
  assert.deepEqual((await runCli(["sandbox", "reset"], { env })).code, 2);
  const asked: string[] = [];
  const reply = (answer: string) => async (question: string) => {
    asked.push(question);
    return answer;
  };
  const no = await runOnTerminal(["sandbox", "reset"], env, reply(""));
  assert.deepEqual([no.code, no.stderr], [1, "error: Nothing was deleted.\n"]);
  assert.equal((await answered("messages", "get", id)).id, id);
  const yes = await runOnTerminal(["sandbox", "reset"], env, reply("y"));
  assert.deepEqual([yes.code, yes.stdout], [0, "Everything is deleted.\n"]);
  assert.match(asked[0] ?? "", /^Delete everything of this customer at http.*\? \[y\/N\] $/);
  assert.equal(await shown("messages", "list"), "No messages.\n");
  assert.equal(await shown("sandbox", "reset", "-y"), "Everything is deleted.\n");
});

test("instances: connected, looked at, changed and deleted, and no secret of theirs is ever shown", async (t) => {
  const secret = "hunter2-and-more";
  const { id } = await answered("instances", "create", "Playground", "--provider", "sandbox");
  assert.match(await shown("instances", "list"), /inst_\S+ +sandbox +healthy +0 +- +Playground/);
  assert.match(await shown("instances", "update", id, "--name", "Sandpit"), /name +Sandpit/);
  assert.match(await shown("instances", "get", id), /config +\{\}/);
  assert.equal(await shown("instances", "delete", id), `${id} deleted\n`);
  const file = join(emptyDirectory(t), "config.json");
  const attempts: string[][] = [
    ["instances", "create", "Mac", "--provider", "bluebubbles", "--config", `{"password":"${secret}","url":7}`],
    ["instances", "create", "Mac", "--provider", "bluebubbles", "--config", `{"password":"${secret}`],
    ["instances", "create", "Mac", "--provider", "bluebubbles", "--config", `["${secret}"]`],
    ["instances", "create", "Mac", "--provider", "bluebubbles", "--config-file", file],
  ];
  writeFileSync(file, `password: ${secret}`);
  chmodSync(file, 0o600);
  for (const args of attempts) {
    const { code, stdout, stderr } = await runOnTerminal(args, env);
    assert.notEqual(code, 0);
    assert.doesNotMatch(stdout + stderr, /hunter/, args.join(" "));
  }
  assert.match((await refused("instances", "create", "Mac"))[1], /--provider/);
  assert.equal((await refused("instances", "update", id))[0], 2);
  assert.deepEqual(
    await refused("instances", "create", "x", "--provider", "sandbox", "--config", "{}", "--config-file", "y"),
    [2, "error: option '--config-file <path>' cannot be used with option '--config <json>'"],
  );
});

test("the files that a command stores for its user are in one directory, which no other command needs", async (t) => {
  const own = { ...envFor(t, api), XDG_CONFIG_HOME: "/dev/null" };
  assert.equal((await runOnTerminal(["events", "list"], own)).code, 0);
  const { code, stderr } = await runOnTerminal(["listen", "--print-secret"], own);
  assert.equal(code, 2);
  assert.match(stderr, /^error: .*\/dev\/null\/tightbeam cannot be written .*--secret/);
});
