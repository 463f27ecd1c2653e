/** A Twilio provider on a stage: the fake as its peer, a hook on loopback, and all that it tells. */

import type { TestContext } from "node:test";
import { type Clock, systemClock } from "../../../server/clock.ts";
import type {
  Applied,
  HookRequest,
  HookResponse,
  Memory,
  OwnAddress,
  Provider,
  Signal,
} from "../../../server/providers/provider.ts";
import { createTwilio } from "../../../server/providers/twilio/twilio.ts";
import { providerContext } from "../provider.ts";
import { FakeTwilio } from "./fake-twilio.ts";
import { type Listening, listen, readText } from "./loopback.ts";

/** What calls the hook of whichever provider runs. */
export interface Hook {
  url: string;
  /** Who takes what is told; null: there is nobody, 503. */
  to: Pick<Provider, "receive"> | null;
  close(): Promise<void>;
}

/** A hook that gives requests to a provider as the service does. */
async function openHook(): Promise<Hook> {
  let server: Listening | null = null;
  const hook: Hook = { url: "", to: null, close: async () => server?.close() };
  server = await listen(async (request, response) => {
    const url = request.url ?? "";
    const [path = "", ...query] = url.slice("/hook".length).split("?");
    const asked: HookRequest = {
      method: request.method === "POST" ? "POST" : "GET",
      path,
      url: `${hook.url}${path}${query.length > 0 ? `?${query.join("?")}` : ""}`,
      headers: Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)])),
      body: Buffer.from(await readText(request)),
    };
    const gone: HookResponse = { status: 503 };
    const replying = hook.to?.receive?.(asked) ?? Promise.resolve(gone);
    const {
      status,
      contentType = "text/plain",
      body = "",
    } = await replying.catch((): HookResponse => ({ status: 500 }));
    response.writeHead(status, { "content-type": contentType }).end(body);
  });
  hook.url = `${server.url}/hook`;
  return hook;
}

/** Memory that is a map. */
export function memoryIn(entries: Map<string, string>): Memory {
  return {
    list: async (prefix) =>
      [...entries].filter(([key]) => key.startsWith(prefix)).map(([key, value]) => ({ key, value })),
    put: async (key, value) => void entries.set(key, value),
    delete: async (key) => void entries.delete(key),
  };
}

export interface TwilioStage {
  fake: FakeTwilio;
  hook: Hook;
  provider: ReturnType<typeof createTwilio>;
  /** Everything that was told. */
  signals: Signal[];
  faults: string[];
  /** How often it said that `isUp` changed. */
  changes: number;
  entries: Map<string, string>;
  /** The numbers of the instance; may be replaced. None unless a test says so. */
  numbers: readonly OwnAddress[];
  /** Decides what comes of a signal; may be replaced. */
  listen: (signal: Signal) => Promise<Applied>;
  /** Stops the provider, and starts another on the same memory. */
  restart(): Promise<void>;
}

/** Starts a provider against a fake of its own; the test ends both. */
export async function twilioStage(
  t: TestContext,
  {
    clock = systemClock(),
    config = {},
    hookUrl,
    numbers = [],
  }: { clock?: Clock; config?: object; hookUrl?: string; numbers?: readonly OwnAddress[] } = {},
): Promise<TwilioStage> {
  const fake = await new FakeTwilio().start();
  fake.clock = clock;
  const hook = await openHook();
  const entries = new Map<string, string>();
  const begin = async (): Promise<ReturnType<typeof createTwilio>> => {
    const provider = createTwilio(
      providerContext({
        clock,
        memory: memoryIn(entries),
        config: { ...fake.config, ...config },
        hookUrl: () => hookUrl ?? hook.url,
        senders: async () => stage.numbers,
        changed: () => {
          stage.changes += 1;
        },
        fault: (error) => void stage.faults.push(String(error)),
      }),
    );
    hook.to = provider;
    await provider.start(async (signal) => {
      const applied = await stage.listen(signal);
      stage.signals.push(signal);
      return applied;
    });
    return provider;
  };
  const stage = {
    fake,
    hook,
    signals: [],
    faults: [],
    changes: 0,
    entries,
    numbers,
    listen: async () => "applied",
  } as Omit<TwilioStage, "provider" | "restart"> as TwilioStage;
  stage.provider = await begin();
  stage.restart = async () => {
    hook.to = null;
    await stage.provider.stop();
    stage.provider = await begin();
  };
  t.after(async () => {
    await stage.provider.stop();
    await hook.close();
    await fake.stop();
  });
  return stage;
}
