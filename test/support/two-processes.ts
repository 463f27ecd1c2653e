/** Starts two processes on one PostgreSQL database: an `api`, and one that does everything and so owns every instance. */

import assert from "node:assert/strict";
import type { Store } from "../../server/store/store.ts";
import { freePort } from "./free-port.ts";
import { type Asking, startTestService, type TestService } from "./service.ts";
import { type ServiceDatabase, serviceDatabase, sharedPreparedPostgres } from "./service-database.ts";

export interface TwoProcesses {
  /** It answers requests, and runs no instance and no loop. */
  asked: TestService;
  owner: TestService;
  database: ServiceDatabase;
  stop(): Promise<void>;
}

const KEYS = { TB_API_KEY: `tb_${"p".repeat(36)}`, TB_ADMIN_KEY: `tb_${"q".repeat(36)}` };
const ENV = { ...KEYS, TB_SECRET_KEY: Buffer.alloc(32, 7).toString("base64"), TB_SANDBOX_INBOX: "on" };

/** `onAsked` and `onOwner` get the stores; `more` are settings of both. */
export async function startProcesses(
  watch: { onAsked?: (store: Store) => void; onOwner?: (store: Store) => void } = {},
  more: Record<string, string> = {},
): Promise<TwoProcesses> {
  const { onAsked = () => {}, onOwner = () => {} } = watch;
  const database = await serviceDatabase("", await sharedPreparedPostgres());
  const port = String(await freePort());
  const env = { ...ENV, ...more, TB_PUBLIC_URL: `http://127.0.0.1:${port}` };
  const owner = await startTestService(env, { shared: database, onStore: onOwner });
  const asked = await startTestService({ ...env, PORT: port, TB_ROLE: "api" }, { shared: database, onStore: onAsked });
  return {
    asked,
    owner,
    database,
    async stop() {
      await Promise.all([asked.stop(), owner.stop()]);
      await database.drop();
    },
  };
}

/** The `data` of a response that must be a success. */
export async function data(at: TestService, line: string, asking: Asking = {}) {
  const [method = "", path = ""] = line.split(" ");
  const answer = await at.ask(method, path, asking);
  assert.ok(answer.status < 300, `${line}: ${answer.status} ${JSON.stringify(answer.error)}`);
  return answer.data;
}

/** `data` of a request with the admin key. */
export const admin = (at: TestService, line: string, body?: object) =>
  data(at, line, { key: at.adminKey, ...(body === undefined ? {} : { body }) });
/** Whether an instance is connected, whichever process runs it. */
export async function isConnected(at: TestService, instanceId: string): Promise<boolean> {
  const response = await fetch(`${at.url}/health`, { headers: { authorization: `Bearer ${at.adminKey}` } });
  const { checks } = (await response.json()) as { checks: Record<string, { status: string }> };
  return checks[instanceId]?.status === "ok";
}

/** The first customer. */
export async function customerIdAt(at: TestService): Promise<string> {
  const { customers } = await admin(at, "GET /v1/admin/customers");
  return customers[0].id;
}
