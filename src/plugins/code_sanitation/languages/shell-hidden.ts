// Commands that hide from a filter: split words, wildcards, expansions, and syntax that nobody writes by hand.
import { BLANK, isOf, LETTER, WORD } from "../char-classes.ts";
import { edge, NOT_WORD } from "../edge.ts";
import {
  any,
  blanks,
  digits,
  end,
  gap,
  identifier,
  lit,
  lowerText,
  NO_MATCH,
  oneOf,
  opt,
  quote,
  run,
  seq,
  times,
  word,
  wordEnd,
  words,
} from "../grammar.ts";
import { pattern, type Pattern } from "../pattern.ts";
import type { Rule } from "../rule.ts";
import { type View, unitAt } from "../view.ts";
import { asValue, calledValue } from "./calls.ts";
import { COMMANDS, PLAIN_COMMANDS } from "./shell-commands.ts";
import {
  anyCommand,
  COMMAND_START,
  option,
  path,
  PATH_START,
  plainCommand,
  rootDirectory,
} from "./shell-grammar.ts";

const pieceOfWord: Rule = run(LETTER, 1, 5);
const restOfWord: Rule = run(LETTER, 1, 12);
/** `'wh'oami`: a command's name with quotes around a piece of it. */
const splitCommand: Rule = (view, at) => {
  const piece = pieceOfWord(view, at);
  if (piece < 0 || unitAt(view, piece) !== unitAt(view, at - 1)) return NO_MATCH;
  const rest = restOfWord(view, piece + 1);
  if (rest < 0) return NO_MATCH;
  return PLAIN_COMMANDS.has(lowerText(view, at, piece) + lowerText(view, piece + 1, rest)) ? rest : NO_MATCH;
};

const GLOB_ROOTS = words(`
    /etc/ /bin/ /usr/ /bi /et /us /va /tm
  `);
const wildcardPath: Rule = seq(
  run(WORD, 0, 10),
  any(
    seq(
      lit("["),
      opt(oneOf("!^")),
      run(LETTER, 1, 2),
      any(lit("]"), lit("///]")),
      any(run(LETTER, 1, 12), oneOf("/"), end),
    ),
    seq(
      any(
        seq(lit("?"), run(LETTER, 0, 4), oneOf("?/")),
        lit("?/"),
        seq(lit("*"), lit("/"), run(LETTER, 1, 12)),
      ),
      times(0, 24, any(run(WORD, 1, 12), oneOf("/?*"))),
    ),
    seq(
      lit("/"),
      run(WORD, 0, 6),
      any(seq(oneOf("?"), oneOf("? abcdefghijklmnopqrstuvwxyz")), seq(lit("["), run(LETTER, 1, 1), lit("]"))),
    ),
  ),
);

export const SHELL_HIDDEN: readonly Pattern[] = [
  pattern("shell.field-separator", ["${ifs", "$ifs"], { after: any(lit("}"), oneOf("$:,"), wordEnd) }),
  pattern("shell.expansion", ["${path", "${home", "${pwd", "${shell"], {
    after: any(seq(oneOf(":#%"), oneOf("0123456789#{%/~-?*"))),
  }),
  pattern("shell.wildcard-path", GLOB_ROOTS, { prev: PATH_START, after: wildcardPath }),
  pattern("shell.wildcard-path", ["/???/", "/??/"], {
    prev: PATH_START,
    after: seq(times(0, 2, oneOf("?*")), run(LETTER, 1, 3), oneOf("?*[")),
  }),
  pattern("shell.alias", ["alias "], {
    prev: COMMAND_START,
    after: seq(
      times(0, 2, seq(oneOf("-+"), times(1, 4, run(LETTER, 1, 1)), opt(lit("+")), gap)),
      run(WORD, 1, 24),
      times(0, 3, any(lit("-"), run(WORD, 1, 24))),
      lit("="),
      any(quote, identifier),
    ),
  }),
  pattern("shell.shellshock", ["() {", "(){"], {
    after: any(
      seq(
        blanks,
        any(
          seq(lit(":"), blanks, lit(";"), blanks, lit("}")),
          seq(run(WORD, 1, 24), opt(lit("()")), blanks, oneOf("|&")),
          seq(lit(":"), blanks, oneOf("|&")),
          lit("_;"),
        ),
      ),
    ),
  }),
  pattern("shell.here-string", ["<<<"], {
    before: (view, at) => (isOf(unitAt(view, at - 1), WORD | BLANK) ? at : NO_MATCH),
    after: seq(blanks, any(quote, lit("$("), anyCommand)),
  }),
  pattern("shell.brace-expansion", ["{,", ",-", "{ls,", "{cat,", "{wget,", "{curl,", "{nc,", "{n$"], {
    after: any(
      seq(times(0, 2, oneOf("$'\"")), anyCommand, times(0, 2, oneOf("'\"")), oneOf(",}")),
      seq(lit("/?")),
      seq(lit("/"), rootDirectory),
      seq(lit("nlvp"), lit(",")),
      seq(lit("-"), run(WORD, 1, 10), lit(",")),
    ),
  }),
  pattern("shell.split-word", ["$@", "$*", "$()", "``", "<()", ">()", "$u"], {
    before: insideWord,
    after: seq(run(LETTER, 1, 12), any(oneOf("$+/"), gap)),
  }),
  pattern("shell.split-word", ["``", "$()"], {
    before: (view, at) => (commandBack(view, at) ? at : NO_MATCH),
    after: seq(gap, any(digits, path, option)),
  }),
  pattern("shell.split-word", ["'", '"'], { prev: NOT_WORD, next: edge(LETTER), after: splitCommand }),
  pattern("shell.assembled", ["&&$", ";$"], {
    after: seq(identifier, any(seq(lit("$"), identifier), seq(gap, any(identifier, lit("$"), lit("/"))))),
  }),
  pattern("shell.history", ["!-1!-2", "!!:", "!-1"], { after: any(end, oneOf("!0123456789")) }),
  pattern("shell.quoted-command", ["'", '"'], {
    prev: NOT_WORD,
    next: edge(LETTER),
    after: seq(
      anyCommand,
      quote,
      gap,
      any(
        path,
        option,
        seq(word(["alerts", "install", "hosts"]), gap),
        seq(any(plainCommand, lit("who")), end),
      ),
    ),
  }),
  pattern("shell.mail-protocol", ["rcpt to:", "mail from:"], { after: seq(blanks, lit("<")) }),
  pattern("shell.dot-command", [";\\n.", "; .", ";.", "\n."], {
    after: seq(times(0, 3, oneOf(" \\'\"")), lit("shell"), gap, identifier),
  }),
  pattern("shell.command-value", ["system", "exec", "passthru", "shell_exec"], {
    before: asValue,
    after: calledValue,
  }),
];

function insideWord(view: View, at: number): number {
  const before = unitAt(view, at - 1);
  return isOf(before, LETTER) && !isOf(unitAt(view, at - 6), LETTER) ? at : NO_MATCH;
}

function commandBack(view: View, at: number): boolean {
  let from = at;
  while (at - from < 12 && isOf(unitAt(view, from - 1), WORD)) from--;
  return COMMANDS.has(lowerText(view, from, at));
}
