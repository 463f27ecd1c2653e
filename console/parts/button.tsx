/** Buttons: one look for each weight, so that a screen has one primary verb. */

import type { ComponentProps } from "react";
import { Icon, type IconName } from "./icons.tsx";

/** `primary` once a view; `danger` for what cannot be undone. */
export type ButtonTone = "primary" | "plain" | "quiet" | "danger";

const TONES: Record<ButtonTone, string> = {
  primary: "bg-accent-solid text-white border-transparent hover:brightness-110",
  plain: "bg-raised text-text border-strong-line hover:bg-hover",
  quiet: "bg-transparent text-soft border-transparent hover:bg-hover hover:text-text",
  danger: "bg-bad-soft text-bad border-transparent hover:brightness-95",
};

interface ButtonProps extends Omit<ComponentProps<"button">, "type"> {
  tone?: ButtonTone;
  icon?: IconName;
  /** Key that does the same; shown in the button and named in its title. */
  hint?: string;
  type?: "button" | "submit";
}

/** The classes of a button, for a link that looks like one. */
export function buttonClass(tone: ButtonTone = "plain"): string {
  return `inline-flex h-7 items-center gap-1.5 rounded-md border px-2.5 font-medium whitespace-nowrap select-none disabled:opacity-50 ${TONES[tone]}`;
}

/** A button with a label. */
export function Button({
  tone = "plain",
  icon,
  hint,
  type = "button",
  className = "",
  children,
  ...rest
}: ButtonProps) {
  return (
    <button type={type} className={`${buttonClass(tone)} ${className}`} {...rest}>
      {icon !== undefined && <Icon name={icon} size={14} />}
      {children}
      {hint !== undefined && <Kbd>{hint}</Kbd>}
    </button>
  );
}

/** A button that is only an icon; `label` is its name and its tooltip. */
export function IconButton({
  label,
  icon,
  hint,
  className = "",
  ...rest
}: Omit<ComponentProps<"button">, "type" | "children"> & { label: string; icon: IconName; hint?: string }) {
  return (
    <button
      type="button"
      aria-label={label}
      title={hint === undefined ? label : `${label} (${hint})`}
      className={`inline-flex size-7 shrink-0 items-center justify-center rounded-md text-soft hover:bg-hover hover:text-text disabled:opacity-50 ${className}`}
      {...rest}
    >
      <Icon name={icon} />
    </button>
  );
}

/** A key of the keyboard. */
export function Kbd({ children }: { children: string }) {
  return (
    <kbd className="rounded border border-current/25 px-1 font-mono text-[11px] leading-4 max-md:hidden">
      {children}
    </kbd>
  );
}
