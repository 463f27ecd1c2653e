/** Every screen: its addresses, its place in the side bar and its code, which is loaded when it is shown. */

import { type ComponentType, lazy } from "react";
import { numberInPath, pathOfPhone, pathOfRequest } from "../parts/addresses.ts";
import type { Screen, ScreenProps } from "../parts/screen.ts";

function load(get: () => Promise<ComponentType<ScreenProps>>): ComponentType<ScreenProps> {
  return lazy(async () => ({ default: await get() }));
}

/** The screens, in the order of the side bar. A new screen is a row of this table. */
export const SCREENS: readonly Screen[] = [
  { title: "Home", paths: ["/"], icon: "home", component: load(async () => (await import("./home/home.tsx")).Home) },
  {
    title: "Phone",
    paths: ["/phone", "/phone/:number"],
    icon: "phone",
    component: load(async () => (await import("./phone/phone.tsx")).Phone),
  },
  {
    title: "Messages",
    paths: ["/messages", "/m/:id"],
    icon: "messages",
    component: load(async () => (await import("./messages/messages.tsx")).Messages),
  },
  {
    title: "Webhooks",
    paths: ["/webhooks", "/webhooks/:part", "/webhooks/:part/:id"],
    icon: "webhooks",
    component: load(async () => (await import("./webhooks/webhooks.tsx")).Webhooks),
  },
  {
    title: "Logs",
    paths: ["/logs", "/logs/:id"],
    icon: "logs",
    component: load(async () => (await import("./logs/logs.tsx")).Logs),
  },
  {
    title: "Settings",
    paths: ["/settings", "/settings/:section"],
    icon: "settings",
    component: load(async () => (await import("./settings/settings.tsx")).Settings),
  },
  { title: "Event", paths: ["/e/:id"], component: load(async () => (await import("./records/event.tsx")).EventPage) },
  {
    title: "Delivery",
    paths: ["/d/:id"],
    component: load(async () => (await import("./records/delivery.tsx")).DeliveryPage),
  },
];

/** Addresses that are another one's: `/p/+1555…` is the phone's screen. */
export const ALIASES: readonly { path: string; to: (params: ScreenProps["params"]) => string }[] = [
  { path: "/p/:number", to: ({ number = "" }) => pathOfPhone(numberInPath(number)) },
  { path: "/r/:id", to: ({ id = "" }) => pathOfRequest(id) },
];
