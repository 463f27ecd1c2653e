/** A Twilio provider on a stage: the small Twilio as its peer, a hook on loopback, and all its signals. */

import type { TestContext } from "node:test";
import { type Clock, systemClock } from "../../../server/clock.ts";
import type { ChosenWords } from "../../../server/core/opt-out.ts";
import { chosenWords, DEFAULT_OPT_OUT_SETTINGS } from "../../../server/core/opt-out-settings.ts";
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
import { AttemptsKept, attemptsIn } from "../attempts.ts";
import { providerContext, remembering } from "../provider.ts";
import { FakeTwilio } from "./fake-twilio.ts";
import { type Listening, listen, readText } from "./loopback.ts";

/** Calls the hook of the running provider. */
export interface Hook {
  url: string;
  /** Handles the requests; null: nobody does, 503. */
  to: Pick<Provider, "receive"> | null;
  close(): Promise<void>;
}

/** A hook that passes requests to a provider like the service. */
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

/** A memory in a map. */
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
  /** All reported signals. */
  signals: Signal[];
  faults: string[];
  /** How often `changed` was called. */
  changes: number;
  /** Events that Twilio sent. */
  events: number;
  entries: Map<string, string>;
  attempts: AttemptsKept;
  /** The numbers of the instance; may be replaced. None by default. */
  numbers: readonly OwnAddress[];
  /** The opt-out words of every number; may be replaced. */
  words: ChosenWords;
  /** An address that is no number of the service. */
  nobodys: string | null;
  /** The engine's answer to a signal; may be replaced. */
  listen: (signal: Signal) => Promise<Applied>;
  /** Stops the provider, and starts another one with the same memory. */
  restart(): Promise<void>;
}

/** Starts a provider with a small Twilio of its own; the test ends both. */
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
  const attempts = new AttemptsKept();
  const begin = async (): Promise<ReturnType<typeof createTwilio>> => {
    const bare = createTwilio(
      providerContext({
        clock,
        memory: memoryIn(entries),
        attempts: attemptsIn(attempts),
        config: { ...fake.config, ...config },
        hookUrl: () => hookUrl ?? hook.url,
        numbers: async () => stage.numbers,
        senders: async () => stage.numbers,
        isNumber: async (address) => address !== stage.nobodys,
        optOutWordsAt: async () => stage.words,
        mayWrite: () => true,
        changed: () => {
          stage.changes += 1;
        },
        eventReceived: () => {
          stage.events += 1;
        },
        fault: (error) => void stage.faults.push(String(error)),
      }),
    );
    const provider = remembering(bare, async (_, conclude) => conclude(), attempts);
    hook.to = provider;
    await provider.start(async (signal) => {
      const applied = await stage.listen(signal);
      stage.signals.push(signal);
      attempts.apply(signal);
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
    events: 0,
    entries,
    attempts,
    numbers,
    words: chosenWords(DEFAULT_OPT_OUT_SETTINGS),
    nobodys: null,
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
