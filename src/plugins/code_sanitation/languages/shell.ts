// The patterns of the shell, from the files of each group. The order is significant: it is the order in which patterns with
// the same trigger are tried.
import type { Pattern } from "../pattern.ts";
import { SHELL_ADMINISTRATION } from "./shell-administration.ts";
import { SHELL_EXECUTION } from "./shell-execution.ts";
import { SHELL_FILES } from "./shell-files.ts";
import { SHELL_OBFUSCATED } from "./shell-obfuscated.ts";
import { SHELL_SEPARATORS } from "./shell-separators.ts";
import { SHELL_STRICT } from "./shell-strict.ts";
import { SHELL_SUBSTITUTION } from "./shell-substitution.ts";
import { SHELL_WILDCARDS } from "./shell-wildcards.ts";
import { SHELL_WINDOWS } from "./shell-windows.ts";

export const SHELL: readonly Pattern[] = [
  ...SHELL_SEPARATORS,
  ...SHELL_SUBSTITUTION,
  ...SHELL_FILES,
  ...SHELL_EXECUTION,
  ...SHELL_OBFUSCATED,
  ...SHELL_WILDCARDS,
  ...SHELL_WINDOWS,
  ...SHELL_ADMINISTRATION,
  ...SHELL_STRICT,
];
