// Shell patterns for obfuscated commands: split words, wildcards, expansions, and syntax that is not typed by hand.
import { isInClass, LETTER, WHITESPACE, WORD } from "../char-classes.ts";
import { charSet, NOT_WORD } from "../char-set.ts";
import { choice, keyword, lit, oneOf, opt, run, seq, times } from "../combinators.ts";
import { lowerCaseText, splitWords } from "../keyword-set.ts";
import { NO_MATCH, type Matcher } from "../matcher.ts";
import { unitAt, type NormalizedText } from "../normalized-text.ts";
import { pattern, type Pattern } from "../pattern.ts";
import { digits, end, identifier, ows, quote, rws, wordBoundary } from "../tokens.ts";
import { callOfValue, inQuotesOrBrackets } from "./calls.ts";
import { COMMANDS, PLAIN_COMMANDS } from "./shell-commands.ts";
import {
  anyCommand,
  BEFORE_COMMAND,
  BEFORE_PATH,
  option,
  path,
  plainCommand,
  rootDirectory,
} from "./shell-grammar.ts";

const commandPart: Matcher = run(LETTER, 1, 5);
const commandRest: Matcher = run(LETTER, 1, 12);
/** `'wh'oami`: a command name with quotes around part of it. */
const splitCommand: Matcher = (input, at) => {
  const partEnd = commandPart(input, at);
  if (partEnd < 0 || unitAt(input, partEnd) !== unitAt(input, at - 1)) return NO_MATCH;
  const end = commandRest(input, partEnd + 1);
  if (end < 0) return NO_MATCH;
  const command = lowerCaseText(input, at, partEnd) + lowerCaseText(input, partEnd + 1, end);
  return PLAIN_COMMANDS.has(command) ? end : NO_MATCH;
};

const GLOB_ROOTS = splitWords(`
    /etc/ /bin/ /usr/ /bi /et /us /va /tm
  `);
const wildcardPath: Matcher = seq(
  run(WORD, 0, 10),
  choice(
    seq(
      lit("["),
      opt(oneOf("!^")),
      run(LETTER, 1, 2),
      choice(lit("]"), lit("///]")),
      choice(run(LETTER, 1, 12), oneOf("/"), end),
    ),
    seq(
      choice(
        seq(lit("?"), run(LETTER, 0, 4), oneOf("?/")),
        lit("?/"),
        seq(lit("*"), lit("/"), run(LETTER, 1, 12)),
      ),
      times(0, 24, choice(run(WORD, 1, 12), oneOf("/?*"))),
    ),
    seq(
      lit("/"),
      run(WORD, 0, 6),
      choice(
        seq(oneOf("?"), oneOf("? abcdefghijklmnopqrstuvwxyz")),
        seq(lit("["), run(LETTER, 1, 1), lit("]")),
      ),
    ),
  ),
);

export const SHELL_OBFUSCATED: readonly Pattern[] = [
  pattern("shell.field-separator", ["${ifs", "$ifs"], {
    after: choice(lit("}"), oneOf("$:,"), wordBoundary),
  }),
  pattern("shell.expansion", ["${path", "${home", "${pwd", "${shell"], {
    after: choice(seq(oneOf(":#%"), oneOf("0123456789#{%/~-?*"))),
  }),
  pattern("shell.wildcard-path", GLOB_ROOTS, { precededBy: BEFORE_PATH, after: wildcardPath }),
  pattern("shell.wildcard-path", ["/???/", "/??/"], {
    precededBy: BEFORE_PATH,
    after: seq(times(0, 2, oneOf("?*")), run(LETTER, 1, 3), oneOf("?*[")),
  }),
  pattern("shell.alias", ["alias "], {
    precededBy: BEFORE_COMMAND,
    after: seq(
      times(0, 2, seq(oneOf("-+"), times(1, 4, run(LETTER, 1, 1)), opt(lit("+")), rws)),
      run(WORD, 1, 24),
      times(0, 3, choice(lit("-"), run(WORD, 1, 24))),
      lit("="),
      choice(quote, identifier),
    ),
  }),
  pattern("shell.shellshock", ["() {", "(){"], {
    after: choice(
      seq(
        ows,
        choice(
          seq(lit(":"), ows, lit(";"), ows, lit("}")),
          seq(run(WORD, 1, 24), opt(lit("()")), ows, oneOf("|&")),
          seq(lit(":"), ows, oneOf("|&")),
          lit("_;"),
        ),
      ),
    ),
  }),
  pattern("shell.here-string", ["<<<"], {
    before: (input, at) => (isInClass(unitAt(input, at - 1), WORD | WHITESPACE) ? at : NO_MATCH),
    after: seq(ows, choice(quote, lit("$("), anyCommand)),
  }),
  pattern("shell.brace-expansion", ["{,", ",-", "{ls,", "{cat,", "{wget,", "{curl,", "{nc,", "{n$"], {
    after: choice(
      seq(times(0, 2, oneOf("$'\"")), anyCommand, times(0, 2, oneOf("'\"")), oneOf(",}")),
      seq(lit("/?")),
      seq(lit("/"), rootDirectory),
      seq(lit("nlvp"), lit(",")),
      seq(lit("-"), run(WORD, 1, 10), lit(",")),
    ),
  }),
  pattern("shell.split-word", ["$@", "$*", "$()", "``", "<()", ">()", "$u"], {
    before: insideWord,
    after: seq(run(LETTER, 1, 12), choice(oneOf("$+/"), rws)),
  }),
  pattern("shell.split-word", ["``", "$()"], {
    before: (input, at) => (isCommandBefore(input, at) ? at : NO_MATCH),
    after: seq(rws, choice(digits, path, option)),
  }),
  pattern("shell.split-word", ["'", '"'], {
    precededBy: NOT_WORD,
    followedBy: charSet(LETTER),
    after: splitCommand,
  }),
  pattern("shell.assembled", ["&&$", ";$"], {
    after: seq(
      identifier,
      choice(seq(lit("$"), identifier), seq(rws, choice(identifier, lit("$"), lit("/")))),
    ),
  }),
  pattern("shell.history", ["!-1!-2", "!!:", "!-1"], { after: choice(end, oneOf("!0123456789")) }),
  pattern("shell.quoted-command", ["'", '"'], {
    precededBy: NOT_WORD,
    followedBy: charSet(LETTER),
    after: seq(
      anyCommand,
      quote,
      rws,
      choice(
        path,
        option,
        seq(keyword(["alerts", "install", "hosts"]), rws),
        seq(choice(plainCommand, lit("who")), end),
      ),
    ),
  }),
  pattern("shell.mail-protocol", ["rcpt to:", "mail from:"], { after: seq(ows, lit("<")) }),
  pattern("shell.dot-command", [";\\n.", "; .", ";.", "\n."], {
    after: seq(times(0, 3, oneOf(" \\'\"")), lit("shell"), rws, identifier),
  }),
  pattern("shell.command-value", ["system", "exec", "passthru", "shell_exec"], {
    before: inQuotesOrBrackets,
    after: callOfValue,
  }),
];

/** Matches inside a word of at most five letters so far. */
function insideWord(input: NormalizedText, at: number): number {
  const before = unitAt(input, at - 1);
  return isInClass(before, LETTER) && !isInClass(unitAt(input, at - 6), LETTER) ? at : NO_MATCH;
}

/** Returns whether a command name ends at this position. */
function isCommandBefore(input: NormalizedText, at: number): boolean {
  let from = at;
  while (at - from < 12 && isInClass(unitAt(input, from - 1), WORD)) from--;
  return COMMANDS.has(lowerCaseText(input, from, at));
}
