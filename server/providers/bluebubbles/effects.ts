/** Effects of iMessage by the names Apple gives them. */

import type { Effect } from "../../../sdk/wire.ts";

/** Bubble effects are MobileSMS's, screen effects are ChatKit's (`expressive_send_style_id` of the Mac's messages). */
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

/** What Apple calls an effect. */
export function effectId(effect: Effect): string {
  return IDS[effect];
}

/** The effect that Apple calls `id`; null for one that has no name here, and for none. */
export function effectOfId(id: string | null): Effect | null {
  return id === null ? null : (EFFECTS.get(id.toLowerCase()) ?? null);
}
