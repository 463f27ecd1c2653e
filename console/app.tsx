/** The application: who is signed in, the shell around every screen, and the screens by their addresses. */

import { QueryClientProvider } from "@tanstack/react-query";
import { Suspense } from "react";
import { matchRoute, Redirect, useLocation, useRouter } from "wouter";
import { ALIASES, SCREENS } from "./pages/screens.ts";
import { Button } from "./parts/button.tsx";
import { Empty, Loading } from "./parts/empty.tsx";
import type { ScreenProps } from "./parts/screen.ts";
import { Boundary } from "./shell/boundary.tsx";
import { Connection } from "./shell/connection.tsx";
import { Shell } from "./shell/shell.tsx";

/** The whole console. */
export function App() {
  return (
    <Connection>
      {(cache) => (
        <QueryClientProvider client={cache}>
          <Shell screens={SCREENS}>
            <Suspense fallback={<Loading />}>
              <Page />
            </Suspense>
          </Shell>
        </QueryClientProvider>
      )}
    </Connection>
  );
}

/** The screen of the address. */
function Page() {
  const [path, navigate] = useLocation();
  const { parser } = useRouter();
  const paramsOf = (pattern: string): ScreenProps["params"] | null => {
    const [isMatch, params] = matchRoute(parser, pattern, path);
    return isMatch ? (params as ScreenProps["params"]) : null;
  };
  for (const screen of SCREENS) {
    for (const pattern of screen.paths) {
      const params = paramsOf(pattern);
      if (params === null) continue;
      return (
        <Boundary key={screen.title} at={path}>
          <screen.component params={params} />
        </Boundary>
      );
    }
  }
  for (const alias of ALIASES) {
    const params = paramsOf(alias.path);
    if (params !== null) return <Redirect to={alias.to(params)} replace />;
  }
  return (
    <Empty icon="search" title="There is no such page" action={<Button onClick={() => navigate("/")}>Go home</Button>}>
      <span className="font-mono">{path}</span>
    </Empty>
  );
}
