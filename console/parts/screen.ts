/** The types of a screen, which the table of screens, the shell and the files of screens share. */

import type { ComponentType } from "react";
import type { IconName } from "./icons.tsx";

/** The parameters of the address, such as `id` of `/m/:id`. */
export interface ScreenProps {
  params: Record<string, string | undefined>;
}

/** A screen. */
export interface Screen {
  /** Its title, in the side bar and in the palette. */
  title: string;
  /** Its addresses: the first one is where the side bar leads. One screen stays in the page under all of its addresses. */
  paths: readonly string[];
  /** Its icon in the side bar; a screen without one is reached by links only. */
  icon?: IconName;
  component: ComponentType<ScreenProps>;
}
