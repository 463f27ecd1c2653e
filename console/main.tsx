/** Entry of the console: puts the application into the page. */

import { createRoot } from "react-dom/client";
import { App } from "./app.tsx";
import { listenToKeys } from "./parts/keys.ts";
import { applyTheme } from "./parts/themes.ts";
import { Boundary } from "./shell/boundary.tsx";
import "./style.css";

applyTheme();
listenToKeys();
const root = document.getElementById("root");
if (root !== null) {
  createRoot(root).render(
    <Boundary at="">
      <App />
    </Boundary>,
  );
}
