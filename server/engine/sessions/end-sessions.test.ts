/** The end of sessions and links: those that are over, and all of a backup. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { testContext } from "../../../test/support/context.ts";
import { LINK_MS, SESSION_MS_MAX } from "../../core/session.ts";
import { findSession } from "../../store/sessions.ts";
import { holdRestored, RESTORED_BACKUP } from "../messages/held.ts";
import { endSession, removeEndedSessions } from "./end-sessions.ts";
import { findOpened } from "./open-session.ts";
import { beginSession, createLink, redeemLink } from "./sign-in.ts";

test("sessions and links are removed once they are over, and not before", async (t) => {
  const { deps, clock, apiKey, close } = await testContext();
  t.after(close);
  const link = await createLink(deps, apiKey);
  const { session } = await beginSession(deps, apiKey, null);
  await clock.advance(LINK_MS - 1);
  assert.equal(await removeEndedSessions(deps), false);
  assert.notEqual(await findOpened(deps, "link", link.token), null);
  await clock.advance(1);
  assert.equal(await redeemLink(deps, link.token, null), null);
  await removeEndedSessions(deps);
  assert.equal(await findSession(deps.store.db, link.session.id), null);
  assert.notEqual(await findSession(deps.store.db, session.id), null);
  await clock.advance(SESSION_MS_MAX);
  await removeEndedSessions(deps);
  assert.equal(await findSession(deps.store.db, session.id), null);
  await assert.rejects(endSession(deps, session.id), { code: "NOT_FOUND" });
});

test("the first start after a restore ends all sessions and links of the backup", async (t) => {
  const { deps, clock, apiKey, close } = await testContext();
  t.after(close);
  const { token } = await beginSession(deps, apiKey, null);
  const link = await createLink(deps, apiKey);
  const value = JSON.stringify({ takenAt: clock.real(), restoredAt: clock.real(), heldAt: null });
  await deps.store.commit([{ op: "put", table: "settings", record: { name: RESTORED_BACKUP, value } }]);
  await holdRestored(deps);
  assert.equal(await findOpened(deps, "session", token), null);
  assert.equal(await redeemLink(deps, link.token, null), null);
  const later = await beginSession(deps, apiKey, null);
  await holdRestored(deps);
  assert.notEqual(await findOpened(deps, "session", later.token), null);
});
