/** The side bar: the screens, and who is signed in. On a narrow page it comes in over the screen. */

import { Link, useLocation } from "wouter";
import type { Session } from "../../sdk/wire.ts";
import { useConnected } from "../api/context.ts";
import { IconButton } from "../parts/button.tsx";
import { Icon, Mark } from "../parts/icons.tsx";
import type { Screen } from "../parts/screen.ts";

/** Whether an address belongs to a screen. */
export function isAt(screen: Screen, path: string): boolean {
  return screen.paths.some((pattern) => {
    const start = pattern.split("/:")[0] ?? pattern;
    return start === "/" || start === "" ? path === "/" : path === start || path.startsWith(`${start}/`);
  });
}

/** The kind of the key, unless its name says it already, and the version of the service. */
function detailsOf({ keyName, scope, version }: Session): string {
  const kind = scope === "admin" ? "Admin key" : "Customer key";
  return keyName === kind ? `Version ${version}` : `${kind} · ${version}`;
}

/** The side bar. */
export function SideBar({
  screens,
  isOpen,
  onClose,
}: {
  screens: readonly Screen[];
  isOpen: boolean;
  onClose: () => void;
}) {
  const [path] = useLocation();
  const { session, leave } = useConnected();
  return (
    <>
      {isOpen && (
        <button
          type="button"
          aria-label="Close the menu"
          className="fixed inset-0 z-30 bg-black/35 md:hidden"
          onClick={onClose}
        />
      )}
      <aside
        aria-label="Side bar"
        className={`flex w-52 shrink-0 flex-col border-r bg-panel max-md:fixed max-md:inset-y-0 max-md:left-0 max-md:z-40 max-md:shadow-2xl ${isOpen ? "" : "max-md:hidden"}`}
      >
        <Link href="/" className="flex h-12 items-center gap-2 px-4 font-semibold">
          <Mark />
          Tightbeam
        </Link>
        <nav aria-label="Screens" className="flex flex-1 flex-col gap-px overflow-y-auto px-2 scroll-thin">
          {screens.flatMap((screen) =>
            screen.icon === undefined ? (
              []
            ) : (
              <Link
                key={screen.title}
                href={screen.paths[0] ?? "/"}
                aria-current={isAt(screen, path) ? "page" : undefined}
                className={`flex h-8 items-center gap-2.5 rounded-md px-2 font-medium ${isAt(screen, path) ? "bg-hover text-text" : "text-soft hover:bg-hover hover:text-text"}`}
              >
                <Icon name={screen.icon} />
                {screen.title}
              </Link>
            ),
          )}
          <a
            href="/docs"
            className="flex h-8 items-center gap-2.5 rounded-md px-2 font-medium text-soft hover:bg-hover hover:text-text"
          >
            <Icon name="docs" />
            Docs
          </a>
        </nav>
        <div className="flex items-center gap-2 border-t py-2 pr-2 pl-4">
          <div className="min-w-0 flex-1 leading-4">
            <div className="truncate text-xs font-medium">{session.keyName}</div>
            <div className="truncate text-xs text-faint">{detailsOf(session)}</div>
          </div>
          <IconButton label="Sign out" icon="out" onClick={leave} />
        </div>
      </aside>
    </>
  );
}
