// Shell patterns for syntax that runs commands: separators, pipes, substitution and backticks.
import { isInClass, WHITESPACE, WORD } from "../char-classes.ts";
import { AMPERSAND, HASH, SEMICOLON } from "../char-codes.ts";
import { charSet, charSetExcept } from "../char-set.ts";
import { choice, except, keyword, lit, not, oneOf, opt, peek, run, seq, skipTo } from "../combinators.ts";
import { splitWords } from "../keyword-set.ts";
import { NO_MATCH } from "../matcher.ts";
import { unitAt, type NormalizedText } from "../normalized-text.ts";
import { pattern, type Pattern } from "../pattern.ts";
import { end, ows, rws } from "../tokens.ts";
import { callPatterns } from "./calls.ts";
import { PLAIN_COMMANDS } from "./shell-commands.ts";
import {
  anyCommand,
  backtickAfterCode,
  backtickOutsideProse,
  binaryPath,
  COMMAND_LINE_START,
  commandEnd,
  commandLine,
  commandOf,
  fileName,
  notInTable,
  notProse,
  option,
  path,
  plainCommand,
  redirection,
  rootDirectory,
  textFilter,
  wordCommand,
} from "./shell-grammar.ts";

export const SHELL_SYNTAX: readonly Pattern[] = [
  ...callPatterns("shell.call", ["system", "exec", "popen", "passthru", "shell_exec"], ["os"]),
  pattern("shell.separator", [";", "&&", "||", "&"], {
    followedBy: COMMAND_LINE_START,
    before: (input, at) => (endsEntity(input, at) ? NO_MATCH : at),
    after: seq(run(WHITESPACE, 0, 12), notProse, commandLine),
  }),
  pattern("shell.pipe", ["|"], {
    followedBy: COMMAND_LINE_START,
    before: notInTable,
    after: seq(ows, not(textFilter), notProse, commandLine),
  }),
  pattern("shell.newline-command", ["\n"], {
    followedBy: charSet(0, "clrwnCLRWN"),
    after: seq(
      choice(
        seq(
          keyword(
            splitWords(`
    cat ls rm wget curl chmod nc
  `),
          ),
          rws,
          seq(opt(seq(option, rws)), choice(seq(lit("/"), rootDirectory), lit("/ "))),
        ),
      ),
    ),
  }),
  pattern("shell.substitution", ["$("], {
    after: seq(
      ows,
      choice(
        seq(
          commandOf(new Set([...PLAIN_COMMANDS].filter((name) => name !== "ss"))),
          choice(commandEnd, rws, peek(oneOf("$<"))),
        ),
        seq(wordCommand, choice(seq(rws, choice(path, fileName, redirection, option)), peek(oneOf(")<$|")))),
        binaryPath,
        seq(lit("<"), path),
        seq(lit("($()")),
      ),
    ),
  }),
  pattern("shell.process-substitution", ["<(", ">("], {
    precededBy: charSetExcept(WORD, ">"),
    after: seq(ows, choice(plainCommand, keyword(["cat", "echo", "head", "tail", "sort"])), rws),
  }),
  pattern("shell.backtick", ["`"], {
    guard: backtickAfterCode,
    after: seq(
      ows,
      choice(
        seq(plainCommand, choice(peek(seq(ows, lit("`"))), rws, peek(oneOf("$<")))),
        seq(
          wordCommand,
          choice(peek(lit("`")), seq(rws, choice(path, fileName, redirection)), peek(oneOf("$<"))),
        ),
        binaryPath,
      ),
      skipTo(lit("`"), 80, "\n"),
    ),
  }),
  pattern("shell.backtick", ["`"], {
    after: seq(
      ows,
      choice(binaryPath, seq(anyCommand, choice(seq(rws, path), lit("<<<"), seq(lit("$"), oneOf("{i"))))),
      skipTo(lit("`"), 80, "\n"),
    ),
  }),
  pattern("shell.backtick", ["`"], {
    guard: backtickOutsideProse,
    after: seq(plainCommand, choice(lit("`"), seq(rws, except("`\n", 1, 60), lit("`"))), end),
  }),
];

/** Returns whether the `;` ends an HTML entity: `&#59;`, `&amp;`. */
function endsEntity(input: NormalizedText, at: number): boolean {
  if (unitAt(input, at) !== SEMICOLON) return false;
  let index = at - 1;
  while (at - index < 8 && isInClass(unitAt(input, index), WORD)) index--;
  return (
    unitAt(input, index) === AMPERSAND ||
    (unitAt(input, index) === HASH && unitAt(input, index - 1) === AMPERSAND)
  );
}
