// The patterns of each language, by the language name in the settings.
import type { Pattern } from "../pattern.ts";
import type { LANGUAGES } from "../settings.ts";
import { CSHARP } from "./csharp.ts";
import { HTML } from "./html.ts";
import { JAVA } from "./java.ts";
import { JAVASCRIPT } from "./javascript.ts";
import { PHP } from "./php.ts";
import { PYTHON } from "./python.ts";
import { RUBY } from "./ruby.ts";
import { SHELL } from "./shell.ts";
import { SQL } from "./sql.ts";

const PATTERNS: Readonly<Record<(typeof LANGUAGES)[number], readonly Pattern[]>> = {
  javascript: JAVASCRIPT,
  python: PYTHON,
  php: PHP,
  sql: SQL,
  shell: SHELL,
  java: JAVA,
  csharp: CSHARP,
  ruby: RUBY,
  html: HTML,
};

export function patternsOf(language: (typeof LANGUAGES)[number]): readonly Pattern[] {
  return PATTERNS[language];
}
