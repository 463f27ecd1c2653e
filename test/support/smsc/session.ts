/** A session to a scripted SMSC under simulated time, with all its events. Loopback only. */

import type { TestContext } from "node:test";
import { encodePdu } from "../../../server/providers/smpp/codec.ts";
import type { DataSm, DeliverSm, SubmitSmResp } from "../../../server/providers/smpp/pdu.ts";
import {
  type BindKind,
  Session,
  type SessionSettings,
  type SubmitResponse,
} from "../../../server/providers/smpp/session.ts";
import { SimulatedClock } from "../clock.ts";
import { until } from "../wait.ts";
import { NO_TLVS, submitSm } from "./pdus.ts";
import { type Script, type ScriptedSmsc, scriptedSmsc } from "./scripted.ts";

export const RESPONSE_TIMEOUT_MS = 10_000;
export const ENQUIRE_LINK_MS = 30_000;

export interface Stage {
  session: Session;
  smsc: ScriptedSmsc;
  clock: SimulatedClock;
  delivered: (DeliverSm | DataSm)[];
  faults: string[];
  /** The value of `isBound` at each change. */
  turns: boolean[];
  /** Why the session ended: at most one entry. */
  ended: string[];
  /** The handler of `deliver`. */
  deliver: (pdu: DeliverSm | DataSm) => Promise<number>;
}

/** An account on loopback. */
export function settingsFor(port: number, more: Partial<SessionSettings> = {}): SessionSettings {
  return {
    host: "127.0.0.1",
    port,
    tls: false,
    systemId: "esme",
    password: "secret",
    systemType: "VMA",
    addressTon: 1,
    addressNpi: 1,
    addressRange: "",
    responseTimeoutMs: RESPONSE_TIMEOUT_MS,
    enquireLinkMs: ENQUIRE_LINK_MS,
    ...more,
  };
}

/** A session that begins to connect. */
export async function startSession(t: TestContext, script?: Script, kind: BindKind = "transceiver"): Promise<Stage> {
  const smsc = await scriptedSmsc(t, script === undefined ? {} : { script });
  const clock = new SimulatedClock();
  const delivered: Stage["delivered"] = [];
  const faults: string[] = [];
  const turns: boolean[] = [];
  const ended: string[] = [];
  const session: Session = new Session(
    kind,
    settingsFor(smsc.port),
    {
      stateChanged: () => turns.push(session.isBound),
      ended: (reason) => ended.push(reason),
      deliver(pdu) {
        delivered.push(pdu);
        return stage.deliver(pdu);
      },
      fault: (error) => faults.push(error instanceof Error ? error.message : String(error)),
    },
    clock,
  );
  const stage: Stage = { session, smsc, clock, delivered, faults, turns, ended, deliver: async () => 0 };
  session.start();
  return stage;
}

/** A bound session. */
export async function boundSession(t: TestContext, script?: Script): Promise<Stage> {
  const stage = await startSession(t, script);
  await until(() => stage.session.isBound, { what: "the bind" });
  return stage;
}

/** Submits one message. */
export function submit({ session }: Stage): Promise<SubmitResponse> {
  return session.submit(encodePdu(submitSm({ sequence: 0 })));
}

/** An accepted submit_sm. */
export function taken(sequence: number, messageId = "m"): SubmitSmResp {
  return { command: "submit_sm_resp", status: 0, sequence, messageId, tlvs: NO_TLVS };
}

/** Lets loopback traffic arrive, to check that something does not happen. */
export async function turnsOfTheLoop(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
