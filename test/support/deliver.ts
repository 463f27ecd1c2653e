/** The deliver loop on a test context with receivers that a test plays itself: simulated time, no network. */

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import type { TestContext as NodeTest } from "node:test";
import type { Attempt, Delivery } from "../../server/core/delivery.ts";
import type { EngineSettings } from "../../server/engine/deps.ts";
import { setWebhook } from "../../server/engine/webhooks/configure.ts";
import { Deliver } from "../../server/engine/webhooks/deliver.ts";
import type { PostRequest, PostResult } from "../../server/outgoing/post.ts";
import { decode } from "../../server/store/rows.ts";
import { type TestContext, testContext } from "./context.ts";
import { URL_A } from "./webhooks.ts";

/** One request, as the receiver sees it. `end` responds, if the response was left to the test. */
export interface Sent extends PostRequest {
  /** Shifted time at which it began. */
  at: number;
  end(posted: PostResult): void;
}

/** Answered with a status. */
export function answered(status: number, more: Partial<PostResult> = {}): PostResult {
  return {
    status,
    durationMs: 1,
    response: "",
    error: null,
    connected: true,
    timedOut: false,
    isPrivate: false,
    ...more,
  };
}

/** Without a response. */
export function unanswered(error: PostResult["error"], more: Partial<PostResult> = {}): PostResult {
  return { ...answered(0, more), status: null, response: null, error };
}

export const OK = answered(200);
export const BROKEN = answered(500);
export const TIMEOUT = unanswered("TIMEOUT", { timedOut: true });

export interface DeliverStage extends TestContext {
  /** Every sending so far. */
  sent: Sent[];
  /** The results of the next attempts; afterwards `answer` decides. Null leaves the response to the test. */
  answers: (PostResult | null)[];
  answer: (request: PostRequest) => PostResult | null;
  lanes: Deliver;
  /** The loop of the next process, which is not started: the present one keeps what it has in hand. */
  next(): Deliver;
  /** Whether the loop may begin attempts of a lane. */
  ownsLane: (lane: string) => boolean;
  /** Whether the loop has applied what other processes changed. It is asked when the receiver of an attempt is read. */
  isCurrent: () => boolean;
  /** Sends all due deliveries without advancing the clock. */
  run(): Promise<void>;
  /** Advances shifted time in one step, then sends due deliveries. */
  pass(ms: number): Promise<void>;
  deliveries(): Promise<Delivery[]>;
  /** The only delivery. */
  delivery(): Promise<Delivery>;
  attempts(): Promise<readonly Attempt[]>;
}

/** The options of a stage. */
export interface DeliverOptions {
  settings?: Partial<EngineSettings>;
  chance?: () => number;
}

/** Opens a stage until the test ends. Nothing is configured; at the end the loop may have met no fault. */
export async function deliverStage(t: NodeTest, { settings = {}, chance = () => 0 }: DeliverOptions = {}) {
  const waking: { lanes: Deliver | null } = { lanes: null };
  const woken: string[] = [];
  const made = await testContext({
    settings,
    deps: {
      chance,
      wake: {
        messages: () => {},
        events: () => {},
        pausedLanes: () => {},
        chores: () => {},
        resetDeliveries: async (customerId) => await waking.lanes?.drop(customerId),
        repaired: () => waking.lanes?.repaired(),
        deliveries: (names, atOnce) => {
          const lanes = [...names];
          woken.push(...lanes);
          waking.lanes?.wake(lanes, atOnce);
        },
      },
    },
  });
  const { clock, deps } = made;
  const sent: Sent[] = [];
  const answers: (PostResult | null)[] = [];
  const post = (request: PostRequest) =>
    new Promise<PostResult>((resolve) => {
      sent.push({ ...request, at: clock.now(), end: resolve });
      const answer = answers.length > 0 ? answers.shift() : stage.answer(request);
      if (answer !== null && answer !== undefined) resolve(answer);
    });
  const ownsLane = (lane: string) => stage.ownsLane(lane);
  const isCurrent = () => stage.isCurrent();
  const loop = () =>
    new Deliver(
      { ...deps, ownsLane, isCurrent },
      { poster: { post }, inboxUrl: (path) => `http://127.0.0.1:8080${path}` },
    );
  const lanes = loop();
  waking.lanes = lanes;
  deps.store.watchReceivers((changes) => lanes.changed(changes));
  lanes.start();
  t.after(async () => {
    await made.close();
    assert.deepEqual(made.observed.faults, []);
  });
  const deliveries = async () =>
    (await deps.store.db.selectFrom("deliveries").selectAll().orderBy("id").execute()).map((row) =>
      decode("deliveries", row),
    );
  const stage: DeliverStage = {
    ...made,
    woken: { messages: [], deliveries: woken },
    sent,
    answers,
    answer: () => OK,
    lanes,
    ownsLane: () => true,
    isCurrent: () => true,
    next() {
      const next = loop();
      waking.lanes = next;
      return next;
    },
    async run() {
      for (let before = -1; before !== sent.length; ) {
        before = sent.length;
        const due = await deps.store.dueLanes("deliveries", clock.now());
        waking.lanes?.wake(due.map(({ lane }) => lane));
        await clock.advance(0);
        await clock.advance(0);
      }
    },
    async pass(ms) {
      clock.shift(ms);
      await stage.run();
    },
    deliveries,
    async delivery() {
      const [only, ...others] = await deliveries();
      assert.ok(only !== undefined && others.length === 0);
      return only;
    },
    async attempts() {
      return (await stage.delivery()).attempts;
    },
  };
  return stage;
}

/** Secret of the primary endpoint that `configure` makes. */
export const SECRET = "a secret of my own";

/** Creates the primary endpoint: every event to `URL_A`, signed with `SECRET`. */
export async function configure({ deps, customer }: TestContext, url = URL_A): Promise<void> {
  await setWebhook(deps, customer.id, { url, events: ["*"], secret: SECRET });
}

/** Whether a sending has the signature (docs/security.md) made with `secret`. */
export function isSignedWith({ headers, body }: PostRequest, secret: string): boolean {
  const signed = `${headers["X-Timestamp"]}.${body}`;
  return headers["X-Signature"] === `sha256=${createHmac("sha256", secret).update(signed).digest("hex")}`;
}
