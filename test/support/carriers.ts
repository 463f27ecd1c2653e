/**
 * An engine stage with several instances: carriers named by a customer's routes, which a test takes down and brings up.
 */

import type { TestContext as NodeTest } from "node:test";
import type { ProviderName, Route, SendMessage } from "../../sdk/wire.ts";
import type { InstanceId, MessageId } from "../../server/core/id.ts";
import type { Instance } from "../../server/core/instance.ts";
import type { Message } from "../../server/core/message.ts";
import { findCustomer } from "../../server/store/customers.ts";
import { commitAll } from "./context.ts";
import { type EngineStage, engineStage, type StageOptions } from "./engine.ts";
import { ScriptedProvider } from "./provider.ts";

/** A further instance and its provider. */
export interface Carrier {
  id: InstanceId;
  name: string;
  provider: ScriptedProvider;
}

export interface Carriers {
  stage: EngineStage;
  /** The number's own instance: a Mac, with iMessage only by default. */
  mac: Carrier;
  /** Adds an instance; an SMS carrier by default. */
  add(provider?: ScriptedProvider, kind?: ProviderName): Promise<Carrier>;
  setRoutes(routes: Route[]): Promise<void>;
  /** Takes carriers down or brings them up, and runs the work that follows. */
  flip(isUp: boolean, ...carriers: Carrier[]): Promise<void>;
}

/** Prefers SMS, so that a route decides. */
export const SMS_FIRST: Partial<SendMessage> = { routing: { preference: ["sms", "imessage"] } };
export const SMS_ONLY: Partial<SendMessage> = { routing: { preference: ["sms"] } };

/** Opens a stage with a number on a Mac, to which a test adds SMS carriers. */
export async function carriersOn(t: NodeTest, options: StageOptions = {}): Promise<Carriers> {
  const provider = options.provider ?? new ScriptedProvider({ channels: ["imessage"] });
  const stage = await engineStage(t, { ...options, provider });
  const { deps, clock } = stage;
  let carriers = 0;
  return {
    stage,
    mac: { id: stage.instance.id, name: stage.instance.name, provider },
    async add(made = new ScriptedProvider({ channels: ["sms"] }), kind = "smpp") {
      const id = deps.newId("inst");
      const now = clock.now();
      carriers += 1;
      const name = `Carrier ${carriers}`;
      const own = { id, name, provider: kind, config: null } as const;
      const record: Instance = { ...own, version: 1, createdAt: now, updatedAt: now };
      await commitAll(deps, [{ op: "insert", table: "instances", record }]);
      deps.configCache.clear();
      stage.providers.set(id, made);
      return { id, name, provider: made };
    },
    async setRoutes(routes) {
      const customer = await findCustomer(deps.store.db, stage.customer.id);
      const { id, version } = customer ?? stage.customer;
      await commitAll(deps, [{ op: "update", table: "customers", id, version, set: { routes } }]);
      deps.configCache.clear();
    },
    async flip(isUp, ...carriers) {
      for (const carrier of carriers) carrier.provider.isUp = isUp;
      stage.life.deps.wake.messages(carriers.map(({ id }) => id));
      stage.life.deps.wake.pausedLanes();
      // A timer of 0 ms takes a millisecond, and a walk over the paused lanes sets one for each batch.
      await clock.advance(10);
      await stage.run();
    },
  };
}

/** The messages that a carrier received, in order. */
export function handedTo({ provider }: Pick<Carrier, "provider">): MessageId[] {
  return provider.handed.map(({ messageId }) => messageId);
}

/** The routing reasons of a message, without the notes of send attempts and receipts. */
export function reasonsOf({ timeline }: Message): string[] {
  return timeline.flatMap(({ reason }) => reason ?? []);
}
