// Shell patterns of the sensitivity `strict`: the constructs of the specification anywhere, also where they are only mentioned.
import { WORD } from "../char-classes.ts";
import { choice, lit, oneOf, run, seq } from "../combinators.ts";
import { pattern, type Pattern } from "../pattern.ts";
import { ows, rws } from "../tokens.ts";
import { BEFORE_COMMAND } from "./shell-context.ts";
import { anyCommand, binaryPath, option, path } from "./shell-grammar.ts";

const IGNORED = "We met at noon and talked about the plan.";

export const SHELL_STRICT: readonly Pattern[] = [
  pattern("shell.separator", [";", "|", "&"], {
    catches: "any command name after a separator",
    from: "strict",
    finds: ["Write `make; ls` in words", "names | sort", "a && cd", "x; /bin/sh"],
    ignores: [IGNORED, "a; catalog"],
    after: seq(ows, choice(anyCommand, seq(lit("/"), binaryPath))),
  }),
  pattern("shell.substitution", ["$(", "`"], {
    catches: "any command name in a substitution or in backticks",
    from: "strict",
    finds: ["today=$(date)", "the `ls` command", "$( sort x )"],
    ignores: [IGNORED, "the `catalog` page"],
    after: seq(ows, anyCommand, choice(rws, oneOf(")`;|"))),
  }),
  pattern("shell.secret-file", ["/etc/", "/proc/", "/dev/", "/bin/"], {
    catches: "any path of the system",
    from: "strict",
    finds: ["Print the users in /etc/passwd.", "see /proc/cpuinfo", "2> /dev/null", "newer than /bin/sh"],
    ignores: [IGNORED, "/etc/"],
    after: run(WORD, 1, 40),
  }),
  pattern("shell.file-command", ["cat ", "cd ", "rm ", "cp ", "mv ", "chmod ", "chown "], {
    catches: "a file command with any path or option",
    from: "strict",
    finds: ["cat ./x", "cd ../x", "rm -r x", "cp -a b c", "mv ./a b", "chmod -R x", "chown -R x"],
    ignores: [IGNORED, "a cat and a dog", "concat ./x"],
    precededBy: BEFORE_COMMAND,
    after: choice(option, path),
  }),
];
