/** Loaded by `--import` into a process and its threads: plants the fault that `TB_FAULT` names, as its source is loaded. */

import { registerHooks } from "node:module";
import { faultNamed, plant } from "./faults.ts";

const fault = faultNamed(process.env.TB_FAULT ?? "");
const { href } = new URL(`../../${fault.file}`, import.meta.url);

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    return url === href ? { ...loaded, source: plant(fault, String(loaded.source)) } : loaded;
  },
});
