/** Reads the code of the guides: adjacent fences are tabs that do the same by curl, in TypeScript and by the command line. */

/** The languages of a guide, in the order of their tabs. */
export const GUIDE_LANGUAGES = ["curl", "TypeScript", "CLI"] as const;
export type GuideLanguage = (typeof GUIDE_LANGUAGES)[number];

/** Code that does one thing, in one or more languages. */
export type GuideStep = Partial<Record<GuideLanguage, string>>;

/** The lines that begin every snippet in TypeScript without an import, as docs/guides/README.md says. */
const CLIENT = 'import { Tightbeam } from "@tightbeam/sdk";\n\nconst tightbeam = new Tightbeam();\n';

/** Fences of commands and TypeScript with nothing but empty lines between them. */
const ADJACENT = /(?:^```(?:sh|ts)\n.*?^```\n\n?)+/gms;
const FENCE = /^```(sh|ts)\n(.*?)^```$/gms;

/** The steps of a guide. Throws if a step has two tabs of one language. */
export function readGuide(text: string): GuideStep[] {
  return (text.match(ADJACENT) ?? []).map((group) => {
    const step: GuideStep = {};
    for (const [, language = "", code = ""] of group.matchAll(FENCE)) {
      const tab = language === "ts" ? "TypeScript" : /(^|\$\()npx tightbeam /m.test(code) ? "CLI" : "curl";
      if (step[tab] !== undefined) throw new Error(`two tabs of ${tab}: ${code}`);
      step[tab] = code;
    }
    return step;
  });
}

/** A snippet as a program whose client is the module at `client`. */
export function programOf(snippet: string, client: string): string {
  const program = snippet.startsWith("import ") ? snippet : `${CLIENT}${snippet}`;
  return program.replaceAll('"@tightbeam/sdk"', JSON.stringify(client));
}
