/** The settings whose default depends on whether every instance is a sandbox. Pure. */

import type { ServiceSetting } from "../../sdk/wire.ts";
import { type Config, LOCAL_WEBHOOKS } from "../config.ts";

/** The mode of the request log, and the private addresses that webhooks may be sent to. */
export function sandboxSettings(
  { requestLog, webhookAllow, webhookAllowReal }: Pick<Config, "requestLog" | "webhookAllow" | "webhookAllowReal">,
  isSandbox: boolean,
) {
  return {
    requestLog: requestLog ?? (isSandbox ? "bodies" : "off"),
    webhookAllow: isSandbox ? webhookAllow : webhookAllowReal,
  } as const;
}

/** Every setting with the value that is in force. */
export function settingsInForce(config: Config, isSandbox: boolean): ServiceSetting[] {
  const defaults = new Map<string, string | null>([
    ["TB_REQUEST_LOG", sandboxSettings(config, isSandbox).requestLog],
    ["TB_WEBHOOK_ALLOW", isSandbox && config.isLocalOnly ? LOCAL_WEBHOOKS : null],
  ]);
  return config.settings.map((setting) => {
    const value = setting.source === "default" ? defaults.get(setting.name) : undefined;
    return value === undefined ? setting : { ...setting, value };
  });
}
