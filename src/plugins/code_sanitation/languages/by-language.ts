// The patterns of each language, by the language name in the settings.
import type { Pattern } from "../pattern.ts";
import type { Language } from "../settings.ts";
import { CSHARP } from "./csharp.ts";
import { HTML } from "./html.ts";
import { JAVA } from "./java.ts";
import { JAVASCRIPT } from "./javascript.ts";
import { PHP } from "./php.ts";
import { PYTHON } from "./python.ts";
import { RUBY } from "./ruby.ts";
import { SHELL } from "./shell.ts";
import { SQL } from "./sql.ts";
import { STRICT } from "./strict.ts";

const PATTERNS: Readonly<Record<Language, readonly Pattern[]>> = {
  javascript: [...JAVASCRIPT, ...STRICT.javascript],
  python: [...PYTHON, ...STRICT.python],
  php: [...PHP, ...STRICT.php],
  sql: [...SQL, ...STRICT.sql],
  shell: [...SHELL, ...STRICT.shell],
  java: [...JAVA, ...STRICT.java],
  csharp: [...CSHARP, ...STRICT.csharp],
  ruby: [...RUBY, ...STRICT.ruby],
  html: [...HTML, ...STRICT.html],
};

export function patternsOf(language: Language): readonly Pattern[] {
  return PATTERNS[language];
}
