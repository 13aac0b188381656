// The patterns of the shell, from the files of each group. The order is significant: it is the order in which patterns with
// the same trigger are tried.
import type { Pattern } from "../pattern.ts";
import { SHELL_COMMAND_PATTERNS } from "./shell-command-lines.ts";
import { SHELL_OBFUSCATED } from "./shell-obfuscated.ts";
import { SHELL_SYNTAX } from "./shell-syntax.ts";
import { SHELL_WINDOWS } from "./shell-windows.ts";

export const SHELL: readonly Pattern[] = [
  ...SHELL_SYNTAX,
  ...SHELL_COMMAND_PATTERNS,
  ...SHELL_OBFUSCATED,
  ...SHELL_WINDOWS,
];
