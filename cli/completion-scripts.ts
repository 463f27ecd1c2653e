/** Makes the scripts that complete a command line from commander's commands. Pure. */

import type { Command, Option } from "commander";

/** A word that is offered, with its meaning. */
interface Word {
  word: string;
  meaning: string;
}

/** One command, as completion needs it. */
export interface Shape {
  /** Its words: `webhooks set`; empty for the program itself. */
  path: string;
  commands: Word[];
  options: (Word & { short: string | null; takesValue: boolean; choices: readonly string[] })[];
  /** Values of each argument; empty if any text is allowed. */
  arguments: (readonly string[])[];
}

/** The program and every command under it. */
export function shapesOf(program: Command): Shape[] {
  const global = program.options.filter(({ long }) => long !== "--version");
  return shapesUnder(program, [], global);
}

function shapesUnder(command: Command, path: readonly string[], global: readonly Option[]): Shape[] {
  const isProgram = path.length === 0;
  const names = command.commands.map(
    (each): Word => ({ word: each.name(), meaning: firstSentence(each.description()) }),
  );
  const options = isProgram ? [...command.options] : [...command.options, ...global];
  const shape: Shape = {
    path: path.join(" "),
    commands: isProgram ? [...names, { word: "help", meaning: "explain a command" }] : names,
    options: [
      ...options.flatMap(({ long, short, description, required, argChoices }) =>
        long === undefined || long === null
          ? []
          : [
              {
                word: long,
                short: short ?? null,
                meaning: description,
                takesValue: required,
                choices: argChoices ?? [],
              },
            ],
      ),
      { word: "--help", short: "-h", meaning: "explain the command, with examples", takesValue: false, choices: [] },
    ],
    arguments: command.registeredArguments.map(({ argChoices }) => argChoices ?? []),
  };
  const under = command.commands.flatMap((each) => shapesUnder(each, [...path, each.name()], global));
  const help: Shape[] = isProgram
    ? [{ path: "help", commands: [], options: [], arguments: [names.map(({ word }) => word)] }]
    : [];
  return [shape, ...under, ...help];
}

function firstSentence(text: string): string {
  return text.split(". ")[0]?.replace(/\.$/, "") ?? "";
}

/** Every option that is followed by a value, in all commands. */
function valued(shapes: readonly Shape[]): string[] {
  const words = shapes.flatMap(({ options }) => options.filter(({ takesValue }) => takesValue).map(({ word }) => word));
  return [...new Set(words)].sort();
}

/** Every command as typed: the path before it, a space, and its own word. */
function steps(shapes: readonly Shape[]): string[] {
  return shapes.filter(({ path }) => path !== "").map(({ path }) => (path.includes(" ") ? path : ` ${path}`));
}

/** The text quoted for bash and zsh. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** The script for bash 3.2 and later. */
export function bashScript(shapes: readonly Shape[]): string {
  const one = (pattern: string, words: readonly string[]) =>
    `      ${quoted(pattern)}) words=${quoted(words.join(" "))} ;;`;
  const values = shapes.flatMap(({ path, options }) =>
    options.filter(({ choices }) => choices.length > 0).map(({ word, choices }) => one(`${path} ${word}`, choices)),
  );
  const options = shapes.map(({ path, options: all }) =>
    one(
      path,
      all.map(({ word }) => word),
    ),
  );
  const places = shapes.flatMap(({ path, commands, arguments: all }) =>
    commands.length > 0
      ? [
          one(
            `${path} 0`,
            commands.map(({ word }) => word),
          ),
        ]
      : all.flatMap((choices, at) => (choices.length > 0 ? [one(`${path} ${at}`, choices)] : [])),
  );
  return `# Completion of tightbeam for bash: source <(tightbeam completion bash)
_tightbeam() {
  local cur=\${COMP_WORDS[COMP_CWORD]} path= place=0 option= words= word i
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    if [[ -n $option ]]; then
      option=
      continue
    fi
    case $word in
      ${valued(shapes).join(" | ")}) option=$word; continue ;;
      -*) continue ;;
    esac
    case "$path $word" in
      ${steps(shapes).map(quoted).join(" | ")}) path=\${path:+$path }$word; place=0 ;;
      *) place=$((place + 1)) ;;
    esac
  done
  if [[ -n $option ]]; then
    case "$path $option" in
${values.join("\n")}
    esac
  elif [[ $cur == -* ]]; then
    case $path in
${options.join("\n")}
    esac
  else
    case "$path $place" in
${places.join("\n")}
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o default -F _tightbeam tightbeam`;
}

/** The script for zsh, with the meaning of each word. */
export function zshScript(shapes: readonly Shape[]): string {
  const items = (words: readonly (Word | string)[]) =>
    words
      .map((each) => (typeof each === "string" ? { word: each, meaning: "" } : each))
      .map(({ word, meaning }) => quoted(meaning === "" ? word : `${word}:${meaning}`))
      .join(" ");
  const one = (pattern: string, words: readonly (Word | string)[]) =>
    `      (${quoted(pattern)}) found=(${items(words)}) ;;`;
  const values = shapes.flatMap(({ path, options }) =>
    options.filter(({ choices }) => choices.length > 0).map(({ word, choices }) => one(`${path} ${word}`, choices)),
  );
  const places = shapes.flatMap(({ path, commands, arguments: all }) =>
    commands.length > 0
      ? [one(`${path} 0`, commands)]
      : all.flatMap((choices, at) => (choices.length > 0 ? [one(`${path} ${at}`, choices)] : [])),
  );
  return `#compdef tightbeam
# Completion of tightbeam for zsh: source <(tightbeam completion zsh)
_tightbeam() {
  local line= place=0 option= word i
  local -a found
  for ((i = 2; i < CURRENT; i++)); do
    word=$words[i]
    if [[ -n $option ]]; then
      option=
      continue
    fi
    case $word in
      (${valued(shapes).join("|")}) option=$word; continue ;;
      (-*) continue ;;
    esac
    case "$line $word" in
      (${steps(shapes).map(quoted).join("|")}) line=\${line:+$line }$word; place=0 ;;
      (*) place=$((place + 1)) ;;
    esac
  done
  if [[ -n $option ]]; then
    case "$line $option" in
${values.join("\n")}
    esac
  elif [[ $words[CURRENT] == -* ]]; then
    case $line in
${shapes.map(({ path, options }) => one(path, options)).join("\n")}
    esac
  else
    case "$line $place" in
${places.join("\n")}
    esac
  fi
  if (( $#found )); then _describe tightbeam found; else _files; fi
}
if [[ $funcstack[1] == _tightbeam ]]; then _tightbeam "$@"; else compdef _tightbeam tightbeam; fi`;
}

/** The script for fish 3, with the meaning of each word. */
export function fishScript(shapes: readonly Shape[]): string {
  const lines = shapes.flatMap(({ path, commands, options, arguments: all }) => {
    const at = (place: number | "any") => `complete -c tightbeam -n ${fishQuoted(`__tightbeam_at '${path}' ${place}`)}`;
    return [
      ...commands.map(({ word, meaning }) => `${at(0)} -f -a ${word} -d ${fishQuoted(meaning)}`),
      ...all.flatMap((choices, place) =>
        choices.length > 0 ? [`${at(place)} -f -a ${fishQuoted(choices.join(" "))}`] : [],
      ),
      ...options.map(({ word, short, meaning, takesValue, choices }) => {
        const value = choices.length > 0 ? ` -x -a ${fishQuoted(choices.join(" "))}` : takesValue ? " -r" : "";
        const brief = short === null ? "" : ` -s ${short.slice(1)}`;
        return `${at("any")} -l ${word.slice(2)}${brief}${value} -d ${fishQuoted(meaning)}`;
      }),
    ];
  });
  return `# Completion of tightbeam for fish: save it as ~/.config/fish/completions/tightbeam.fish
function __tightbeam_at
    set -l line ''
    set -l place 0
    set -l option ''
    for word in (commandline -opc)[2..-1]
        if test -n "$option"
            set option ''
            continue
        end
        switch $word
            case ${valued(shapes).join(" ")}
                set option $word
                continue
            case '-*'
                continue
        end
        switch "$line $word"
            case ${steps(shapes).map(fishQuoted).join(" ")}
                set line (string trim "$line $word")
                set place 0
            case '*'
                set place (math $place + 1)
        end
    end
    test "$line" = "$argv[1]"; and test "$argv[2]" = any -o "$argv[2]" = $place
end
${lines.join("\n")}`;
}

function fishQuoted(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
