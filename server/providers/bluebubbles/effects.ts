/** Maps iMessage effects to Apple's identifiers. */

import type { Effect } from "../../../sdk/wire.ts";

/** Bubble effects belong to MobileSMS, screen effects to ChatKit (`expressive_send_style_id` in the message table). */
const IDS: Readonly<Record<Effect, string>> = {
  slam: "com.apple.MobileSMS.expressivesend.impact",
  loud: "com.apple.MobileSMS.expressivesend.loud",
  gentle: "com.apple.MobileSMS.expressivesend.gentle",
  invisibleInk: "com.apple.MobileSMS.expressivesend.invisibleink",
  echo: "com.apple.messages.effect.CKEchoEffect",
  spotlight: "com.apple.messages.effect.CKSpotlightEffect",
  balloons: "com.apple.messages.effect.CKHappyBirthdayEffect",
  confetti: "com.apple.messages.effect.CKConfettiEffect",
  love: "com.apple.messages.effect.CKHeartEffect",
  lasers: "com.apple.messages.effect.CKLasersEffect",
  fireworks: "com.apple.messages.effect.CKFireworksEffect",
};

const EFFECTS = new Map(Object.entries(IDS).map(([effect, id]) => [id.toLowerCase(), effect as Effect]));

/** Returns Apple's identifier of an effect. */
export function effectId(effect: Effect): string {
  return IDS[effect];
}

/** Returns the effect with Apple's identifier; null for null and for unknown identifiers. */
export function effectOfId(id: string | null): Effect | null {
  return id === null ? null : (EFFECTS.get(id.toLowerCase()) ?? null);
}
