/** `tightbeam completion`: a script by which a shell completes this program's commands, options and their values. */

import { Argument, type Command } from "commander";
import { type Cli, examples } from "./command.ts";

const SHELLS = ["bash", "zsh", "fish"] as const;

/** Adds `completion`. To know every command it has to be added last, and what it prints is made only when it runs. */
export function addCompletion(program: Command, cli: Cli): void {
  program
    .command("completion")
    .description("Print a script with which your shell completes commands, options and their values.")
    .addArgument(new Argument("<shell>", "for which one").choices(SHELLS))
    .addHelpText(
      "after",
      `${examples({
        "source <(tightbeam completion bash)": "in ~/.bashrc",
        "source <(tightbeam completion zsh)": "in ~/.zshrc, after compinit",
        "tightbeam completion fish > ~/.config/fish/completions/tightbeam.fish": "once",
      })}\n\nIt completes the command tightbeam, so that has to be on the PATH: \`npx tightbeam\` is npm's to complete.`,
    )
    .action(async (shell: (typeof SHELLS)[number]) => {
      const { bashScript, fishScript, shapesOf, zshScript } = await import("./completion-scripts.ts");
      const script = { bash: bashScript, zsh: zshScript, fish: fishScript }[shell](shapesOf(program));
      cli.output().line(() => script);
    });
}
