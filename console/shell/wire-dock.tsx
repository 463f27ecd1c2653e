/** The dock of the Wire: `~` shows it beside every screen; its size and side are kept. */

import { type CSSProperties, lazy, type PointerEvent, Suspense, useRef, useState } from "react";
import { IconButton } from "../parts/button.tsx";
import { usePreference } from "../parts/preference.ts";

const Wire = lazy(async () => ({ default: (await import("../wire/wire.tsx")).Wire }));

/** Where the dock is, and how large. */
export interface Dock {
  isOpen: boolean;
  side: "bottom" | "right";
  /** Pixels: its height at the bottom, its width at the right. */
  size: number;
  /** Whether it was opened on this page, and not before: then it takes the keys. */
  isFresh: boolean;
  toggle: () => void;
  turn: () => void;
  resize: (size: number) => void;
}

const SIZE_MIN = 140;
/** The screen keeps at least this much. */
const SCREEN_MIN = 200;
const STEP = 24;

/** The kept state of the dock. */
export function useDock(): Dock {
  const [open, setOpen] = usePreference("wire", "closed");
  const [kept, setSide] = usePreference("wire.side", "bottom");
  const [isFresh, setFresh] = useState(false);
  const side = kept === "right" ? "right" : "bottom";
  const [size, setSize] = usePreference(`wire.size.${side}`, side === "right" ? "420" : "260");
  return {
    isOpen: open === "open",
    side,
    size: Math.max(SIZE_MIN, Number(size) || SIZE_MIN),
    isFresh,
    toggle: () => {
      setFresh(true);
      setOpen(open === "open" ? "closed" : "open");
    },
    turn: () => setSide(side === "right" ? "bottom" : "right"),
    resize: (next) => setSize(String(Math.round(Math.max(SIZE_MIN, next)))),
  };
}

/** The dock, with a bar between it and the screen that resizes it. */
export function WireDock({ dock }: { dock: Dock }) {
  const box = useRef<HTMLElement>(null);
  const isRight = dock.side === "right";
  const drag = (event: PointerEvent<HTMLDivElement>) => {
    if (!event.currentTarget.hasPointerCapture(event.pointerId)) return;
    const edge = box.current?.getBoundingClientRect();
    if (edge === undefined) return;
    const room = isRight ? innerWidth : innerHeight;
    dock.resize(Math.min(room - SCREEN_MIN, isRight ? edge.right - event.clientX : edge.bottom - event.clientY));
  };
  return (
    <section
      ref={box}
      aria-label="The Wire"
      className={`relative flex shrink-0 flex-col bg-back max-h-[70%] ${isRight ? "h-1/2 border-t lg:h-auto lg:max-h-none lg:w-(--dock-size) lg:border-t-0 lg:border-l" : "h-(--dock-size) border-t"}`}
      style={{ "--dock-size": `${dock.size}px` } as CSSProperties}
    >
      <div
        role="separator"
        aria-label="Size of the Wire"
        aria-orientation={isRight ? "vertical" : "horizontal"}
        aria-valuenow={dock.size}
        aria-valuemin={SIZE_MIN}
        tabIndex={0}
        className={`absolute z-10 touch-none hover:bg-accent ${isRight ? "inset-y-0 -left-0.5 w-1 cursor-col-resize max-lg:hidden" : "inset-x-0 -top-0.5 h-1 cursor-row-resize"}`}
        onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
        onPointerMove={drag}
        onKeyDown={({ key }) => {
          if (key === "ArrowUp" || key === "ArrowLeft") dock.resize(dock.size + STEP);
          if (key === "ArrowDown" || key === "ArrowRight") dock.resize(dock.size - STEP);
        }}
      />
      <Suspense fallback={null}>
        <Wire
          takesFocus={dock.isFresh}
          aside={
            <>
              <IconButton
                label={isRight ? "Dock at the bottom" : "Dock at the right"}
                icon={isRight ? "dockBottom" : "dockRight"}
                className="max-lg:hidden"
                onClick={dock.turn}
              />
              <IconButton label="Hide the Wire" hint="~" icon="close" onClick={dock.toggle} />
            </>
          }
        />
      </Suspense>
    </section>
  );
}
