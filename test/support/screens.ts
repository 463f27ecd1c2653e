/** Every screen of the console with something on it: its address, its picture in the docs, and how one knows that it is there. */

import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import type { Story } from "./story.ts";

/** Size and theme of a page. */
export interface View {
  width: number;
  height: number;
  theme: "light" | "dark";
}

/** A desktop in the light. */
export const DESKTOP: View = { width: 1280, height: 800, theme: "light" };
/** The sizes and themes in which every screen is looked at. */
export const VIEWS: readonly View[] = [
  DESKTOP,
  { ...DESKTOP, theme: "dark" },
  { width: 390, height: 844, theme: "light" },
  { width: 390, height: 844, theme: "dark" },
];

/** A screen, as `tellStory` fills it. */
export interface ScreenCase {
  /** Its name, and the first part of its pictures' names. */
  name: string;
  /** Whether an admin's session looks at it; else the customer's. */
  isAdmin?: true;
  /** The address, with the ids of the story. */
  path: (story: Story) => string;
  /** Waits until the screen shows what it has. */
  ready: (page: Page) => Promise<void>;
}

const heading = (name: string) => (page: Page) => page.getByRole("heading", { name, exact: true }).waitFor();
const text = (shown: string) => (page: Page) => page.getByText(shown).first().waitFor();
const row = (index: number) => (page: Page) => page.getByRole("row").nth(index).waitFor();

const figures = async (page: Page) => {
  await page.getByRole("link", { name: /^Sent\s*\d/ }).waitFor();
  await page.getByText("healthy").nth(1).waitFor();
};

/** The screens, in the order of the docs. */
export const SCREENS: readonly ScreenCase[] = [
  { name: "home", path: () => "/", ready: figures },
  { name: "phone", path: () => "/phone/+14155550142", ready: text("They are beautiful") },
  {
    name: "two-phones",
    path: () => "/phone/+14155550142?beside=%2B13035550119",
    ready: text("Do you have eucalyptus"),
  },
  {
    name: "phone-and-wire",
    path: () => "/phone/+14155550142",
    ready: async (page) => {
      await text("They are beautiful")(page);
      await page.keyboard.press("~");
      const turn = page.getByRole("button", { name: "Dock at the right" });
      await page.getByRole("listbox", { name: "Rows of the Wire" }).getByRole("option").nth(4).waitFor();
      if (await turn.isVisible()) await turn.click();
    },
  },
  { name: "messages", path: () => "/messages", ready: row(2) },
  {
    name: "message",
    path: ({ messageId }) => `/m/${messageId}`,
    ready: (page) => page.getByRole("list", { name: "Timeline" }).waitFor(),
  },
  {
    name: "failed-message",
    path: ({ failedId }) => `/m/${failedId}`,
    ready: (page) => page.getByRole("button", { name: "Retry" }).waitFor(),
  },
  { name: "event", path: ({ eventId }) => `/e/${eventId}`, ready: heading("Envelope") },
  { name: "endpoints", path: () => "/webhooks", ready: text("Billing") },
  {
    name: "endpoint",
    path: ({ webhookId }) => `/webhooks/endpoints/${webhookId}`,
    ready: heading("Newest deliveries"),
  },
  { name: "deliveries", path: () => "/webhooks/deliveries", ready: row(2) },
  {
    name: "delivery-beside-the-list",
    path: ({ deliveryId }) => `/webhooks/deliveries/${deliveryId}`,
    ready: heading("Attempts"),
  },
  { name: "delivery", path: ({ deliveryId }) => `/d/${deliveryId}`, ready: heading("Attempts") },
  { name: "event-types", path: () => "/webhooks/events/message.failed", ready: heading("Fields of data") },
  {
    name: "check-a-signature",
    path: () => "/webhooks/check",
    ready: async (page) => {
      await page.getByRole("button", { name: "Use the inbox's newest request" }).click();
      await text("The request is genuine")(page);
    },
  },
  { name: "logs", isAdmin: true, path: () => "/logs", ready: text("RATE_LIMITED") },
  { name: "request", path: ({ requestId }) => `/logs/${requestId}`, ready: heading("Response") },
  { name: "settings", path: () => "/settings", ready: heading("Clock of the sandbox") },
  { name: "numbers", path: () => "/settings/numbers", ready: row(2) },
  { name: "contacts", path: () => "/settings/contacts", ready: text("Tomás Rivera") },
  { name: "opt-outs", path: () => "/settings/opt-outs", ready: row(1) },
  { name: "payments", path: () => "/settings/payments", ready: row(2) },
  { name: "calls", path: () => "/settings/calls", ready: row(1) },
  { name: "admin-home", isAdmin: true, path: () => "/", ready: figures },
  { name: "service", isAdmin: true, path: () => "/settings/service", ready: text("Write-ahead log") },
  { name: "configuration", isAdmin: true, path: () => "/settings/configuration", ready: text("TB_RATE_LIMIT") },
  { name: "instances", isAdmin: true, path: () => "/settings/instances", ready: text("Sandbox, west coast") },
  { name: "keys", isAdmin: true, path: () => "/settings/keys", ready: text("Shop window display") },
  { name: "sessions", isAdmin: true, path: () => "/settings/sessions", ready: row(1) },
  { name: "customers", isAdmin: true, path: () => "/settings/customers", ready: row(2) },
];

const IMAGES = fileURLToPath(new URL("../../docs/images/", import.meta.url));

/** The file of a screen's picture. */
export function pictureOf({ name }: ScreenCase, { width, theme }: View): string {
  return join(IMAGES, `${name}-${width}-${theme}.webp`);
}

/** The recording of the walk from a clone to a webhook: the moving picture, and its last frame for readers who asked for less motion. */
export const RECORDING = {
  name: "from-clone",
  moving: join(IMAGES, "from-clone.webp"),
  still: join(IMAGES, "from-clone-still.webp"),
};
