/** Copies text, and says so. */

import { useEffect, useState } from "react";
import { shortenId } from "./addresses.ts";
import { IconButton } from "./button.tsx";
import { copyText } from "./clipboard.ts";
import { toast, toastError } from "./toasts.tsx";

const SHOWN_MS = 1_500;

/** Copies, and says in a toast whether it was done; `noun` is its subject. */
export async function copyAndSay(text: string, noun: string): Promise<void> {
  if (await copyText(text)) toast(`${noun} is copied.`);
  else toastError(new Error(`${noun} could not be copied: the browser does not allow it.`));
}

/** A button that copies; `label` says what. */
export function CopyButton({ text, label }: { text: string; label: string }) {
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return;
    const timer = setTimeout(() => setCopied(false), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [isCopied]);
  return (
    <IconButton
      label={isCopied ? "Copied" : label}
      icon={isCopied ? "check" : "copy"}
      className={isCopied ? "text-good" : ""}
      onClick={(event) => {
        event.stopPropagation();
        void copyText(text).then(setCopied);
      }}
    />
  );
}

/** An id in mono, shortened, with a button that copies it whole. */
export function CopyId({ id }: { id: string }) {
  return (
    <span className="-my-1 inline-flex items-center gap-0.5 font-mono text-xs text-soft" title={id}>
      {shortenId(id)}
      <CopyButton text={id} label={`Copy ${id}`} />
    </span>
  );
}
