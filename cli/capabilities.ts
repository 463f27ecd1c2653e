/** `tightbeam capabilities`: by what an address can be reached. */

import type { Command } from "commander";
import { type Cli, examples } from "./command.ts";
import { listing } from "./output.ts";

/** Adds `capabilities`. */
export function addCapabilities(program: Command, cli: Cli): void {
  program
    .command("capabilities")
    .description("Show by what a phone number or e-mail address can be reached.")
    .argument("<phone>", "phone number (+15005550100) or iMessage e-mail address")
    .addHelpText(
      "after",
      examples({
        "tightbeam capabilities +15005550102": "no iMessage there",
        "tightbeam capabilities +15005550100 | jq -r .recommendedChannel": "one field of it",
      }),
    )
    .action(async (phone: string) =>
      cli.output().show(await cli.client("messages").capabilities(phone), (found, paint) => {
        const { capabilities, phoneNumber, recommendedChannel, focused, focusMode, lastChecked, cached } = found;
        return listing(
          { phoneNumber, ...capabilities, recommendedChannel, focused, focusMode, lastChecked, cached },
          paint,
        );
      }),
    );
}
