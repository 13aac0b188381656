// Shell patterns for commands inside another command or text: `$(…)`, backticks, `<(…)`, and calls that run a command.
import { WHITESPACE, WORD } from "../char-classes.ts";
import { CLOSE_PAREN } from "../char-codes.ts";
import { charSet } from "../char-set.ts";
import { choice, except, lit, not, run, seq, where } from "../combinators.ts";
import { NO_MATCH, searching, zeroWidth } from "../matcher.ts";
import { unitAt } from "../normalized-text.ts";
import { pattern, type Pattern } from "../pattern.ts";
import { NAME_AND_PATH } from "../search-after.ts";
import { end, ows, rws } from "../tokens.ts";
import { callOfValue, callPatterns, inQuotesOrBrackets } from "./calls.ts";
import {
  backtickAfterCode,
  backtickInCall,
  backtickOutsideProse,
  notMentionedInString,
} from "./shell-backticks.ts";
import { notInScript } from "./shell-context.ts";
import {
  anyCommand,
  binaryPath,
  gap,
  notProse,
  path,
  plainCommand,
  searchLine,
  substitutedCommand,
  substitutedTool,
  textFilter,
} from "./shell-grammar.ts";
import { mayStartCommand } from "./shell-names.ts";

/** Matches `RM)` and `PYTHON)`: the variables of a makefile are upper-case. */
const makeVariable = zeroWidth((input, at) => {
  let index = at;
  while (index - at < 24 && unitAt(input, index) >= 0x41 && unitAt(input, index) <= 0x5a) index++;
  input.work.steps += 2;
  return index > at && unitAt(input, index) === CLOSE_PAREN ? at : NO_MATCH;
});

export const SHELL_SUBSTITUTION: readonly Pattern[] = [
  ...callPatterns("shell.call", ["system", "exec", "popen", "passthru", "shell_exec"], ["os"], {
    catches: "a call of a function that runs a command",
    from: "balanced",
    finds: [
      "system('id')",
      "exec('id')",
      "os.popen('id')",
      "passthru($c)",
      "shell_exec($c);",
      "system()",
      "x = system (  'id' )",
    ],
    ignores: [
      "What does system() do?",
      "the operating system (Linux)",
      "regex.exec(line)",
      "def system(self, x):",
      "ecosystem('x')",
      "file system(s)",
      "systems are old",
    ],
  }),
  pattern("shell.command-value", ["system", "exec", "passthru", "shell_exec"], {
    catches: "the name of a function that runs commands, used as a value and called",
    from: "balanced",
    finds: [
      '"system"("id")',
      "(exec)('id')",
      '["passthru"][0]("id")',
      '{"shell_exec"}("id")',
      "('system')[0]('id')",
    ],
    ignores: ["the 'system' (Linux) is old", "our 'exec' meeting", '"systems"(x)', "f('system') (see below)"],
    before: inQuotesOrBrackets,
    after: callOfValue,
  }),
  pattern("shell.substitution", ["$("], {
    catches: "substitution of a command whose name is not a word, of a file, or of another substitution",
    from: "balanced",
    finds: [
      "$(whoami)",
      "q=$( wget x )",
      "$(/usr/bin/id)",
      "$(< /tmp/x)",
      "$(($() 7))",
      "$(ls|x)",
      "This script counts lines:\nlines=$(wc -l /etc/hosts)",
    ],
    ignores: [
      "$(RM) -f *.o",
      "$(document).ready(run)",
      "$($(this).data('id')).show()",
      "This script counts lines:\nlines=$(wc -l < notes)\nexit",
    ],
    after: seq(
      not(makeVariable),
      ows,
      not(textFilter),
      choice(substitutedTool, seq(lit("<"), ows, path), lit("($()")),
    ),
  }),
  pattern("shell.substitution", ["$("], {
    catches: "substitution of a command whose name is also a word, or that filters text",
    from: "balanced",
    finds: ["x$(echo b)y", "$(wc -l notes)", "$( cat notes.txt )", "$(sort -u names)", "$(date)"],
    ignores: [
      "$(DATE)",
      "about 5 $(more or less)",
      "This script prints the date:\ntoday=$(date)\necho $today",
      "This script prints the date:\nif x; then echo $(date); fi",
    ],
    before: notInScript,
    after: seq(not(makeVariable), ows, substitutedCommand),
  }),
  pattern("shell.process-substitution", ["<(", ">("], {
    catches: "process substitution",
    from: "balanced",
    finds: ["diff <(ls) <(ls -a)", "tee >(cat notes.txt)"],
    ignores: ["if (a <(b + c)) return;", "x>(cat)", 'r"<A>(lua )?"', "List<(int, string)>"],
    precededBy: charSet(WHITESPACE, "\0;|&("),
    after: substitutedCommand,
  }),
  pattern("shell.backtick", ["`"], {
    catches: "a command in backticks directly after code",
    from: "balanced",
    finds: ["a=`id`", "${`id`}", "$(`date`)", "x`uname -a`", '"`cat notes.txt`"', "--exec=`/usr/bin/who`"],
    ignores: [
      "the (`ls`) command",
      "`cat` and `ls`",
      "The type is `x` echo; it is new",
      "use =`x` here",
      "```bash\nls\n```",
      '{"error": "`id` is required"}',
      "Set it:\nx=`date`",
    ],
    guard: backtickAfterCode,
    before: notMentionedInString,
    after: substitutedCommand,
  }),
  pattern("shell.backtick", ["`"], {
    catches: "a command with an argument in backticks as the argument of a call",
    from: "balanced",
    finds: ["print(`echo b`);", "f(`wget x`)", "f(`ls -la`)"],
    ignores: ["fetch(`ping`)", "on(`paste`, go)", "log(`ping failed`)", "the (`wget x`) command"],
    guard: backtickInCall,
    after: choice(seq(lit("echo"), gap, run(WORD, 1, 1)), seq(notProse, plainCommand, gap)),
  }),
  pattern("shell.backtick", ["`"], {
    catches: "a command with an absolute path in backticks",
    from: "balanced",
    finds: ["see `cat /etc/fstab`", "see `cat<<<x`", "see `/bin/cat /etc/x`"],
    ignores: ["see `ls -la`", "see `/bin/sh`"],
    after: searching(
      NAME_AND_PATH,
      seq(
        ows,
        where(
          mayStartCommand,
          choice(seq(binaryPath, rws, path), seq(anyCommand, choice(seq(rws, path), lit("<<<")))),
        ),
        searchLine("`", lit("`"), 80),
      ),
    ),
  }),
  pattern("shell.backtick", ["`"], {
    catches: "a command in backticks at the end of the text, without a sentence before it",
    from: "balanced",
    finds: ["`uname -a`", "`id`", "`/usr/bin/who`"],
    ignores: ["You can run `uname -a`", "`ls` lists files"],
    guard: backtickOutsideProse,
    after: seq(
      choice(plainCommand, binaryPath),
      choice(lit("`"), seq(rws, except("`\n", 1, 60), lit("`"))),
      end,
    ),
  }),
];
