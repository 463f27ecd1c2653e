/** Dialogs in the middle of the page, drawers at its side: both keep the focus, and Escape closes them. */

import { Dialog as Base } from "@base-ui/react/dialog";
import { type ReactNode, useRef } from "react";
import { IconButton } from "./button.tsx";

interface DialogProps {
  open: boolean;
  onClose: () => void;
  title: ReactNode;
  /** Buttons at the end. */
  actions?: ReactNode;
  /** Whether a click beside the dialog leaves it open. */
  isFirm?: boolean;
  children: ReactNode;
}

const BACKDROP =
  "fixed inset-0 z-40 bg-black/35 transition-opacity data-[ending-style]:opacity-0 data-[starting-style]:opacity-0";

/** The first field of the form in a popup gets the focus; true leaves the choice to the dialog, where there is no form. */
function firstField(popup: HTMLElement | null): HTMLElement | true {
  return popup?.querySelector<HTMLElement>(["input", "select", "textarea"].map((tag) => `form ${tag}`).join()) ?? true;
}

/** A dialog. */
export function Dialog(props: DialogProps) {
  return (
    <Popup
      {...props}
      place="top-[12vh] left-1/2 max-h-[76vh] w-[min(32rem,calc(100vw-2rem))] -translate-x-1/2 rounded-xl border"
    />
  );
}

/** A drawer at the right; on a narrow page it takes the whole width. */
export function Drawer(props: Omit<DialogProps, "isFirm">) {
  return <Popup {...props} place="inset-y-0 right-0 w-[min(28rem,100vw)] border-l" />;
}

function Popup({ open, onClose, title, actions, isFirm = false, children, place }: DialogProps & { place: string }) {
  const popup = useRef<HTMLDivElement>(null);
  return (
    <Base.Root open={open} disablePointerDismissal={isFirm} onOpenChange={(isOpen) => isOpen || onClose()}>
      <Base.Portal>
        <Base.Backdrop className={BACKDROP} />
        <Base.Popup
          ref={popup}
          initialFocus={() => firstField(popup.current)}
          className={`fixed z-50 flex flex-col bg-raised shadow-2xl outline-none ${place}`}
        >
          <Head title={title} />
          <div className="min-h-0 flex-1 overflow-y-auto px-4 pb-4 scroll-thin">{children}</div>
          {actions !== undefined && <div className="flex justify-end gap-2 border-t px-4 py-3">{actions}</div>}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}

function Head({ title }: { title: ReactNode }) {
  return (
    <div className="flex items-center justify-between px-4 pt-3 pb-2">
      <Base.Title className="min-w-0 truncate text-base font-semibold">{title}</Base.Title>
      <Base.Close render={<IconButton label="Close" icon="close" />} />
    </div>
  );
}
