/** `tightbeam completion`: prints a script with which a shell completes commands, options and their values. */

import type { CommandRow } from "./command.ts";

const SHELLS = ["bash", "zsh", "fish"] as const;

/** Prints a completion script, generated from all commands of the program. */
export const completion: CommandRow = {
  name: "completion",
  help: "Print a script with which your shell completes commands, options and their values.",
  arguments: { "<shell>": { help: "your shell", choices: SHELLS } },
  examples: {
    "source <(tightbeam completion bash)": "in ~/.bashrc",
    "source <(tightbeam completion zsh)": "in ~/.zshrc, after compinit",
    "tightbeam completion fish > ~/.config/fish/completions/tightbeam.fish": "once",
  },
  notes: "It completes the command tightbeam, which has to be on the PATH: npm completes `npx tightbeam`.",
  run: async (cli, shell: (typeof SHELLS)[number]) => {
    const { bashScript, fishScript, shapesOf, zshScript } = await import("./completion-scripts.ts");
    const script = { bash: bashScript, zsh: zshScript, fish: fishScript }[shell](shapesOf(cli.program));
    cli.output().line(() => script);
  },
};
