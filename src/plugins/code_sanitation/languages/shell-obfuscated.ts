// Shell patterns for obfuscated commands: split words, expansions, and syntax that is not typed by hand.
import { isInClass, LETTER, WHITESPACE, WORD } from "../char-classes.ts";
import { charSet, NOT_WORD } from "../char-set.ts";
import { choice, lit, oneOf, opt, run, seq, times, where } from "../combinators.ts";
import { isSameText, lowerCaseText } from "../keyword-set.ts";
import { NO_MATCH, searching, withFirstSetOf, withWords, type Matcher } from "../matcher.ts";
import { unitAt, type NormalizedText } from "../normalized-text.ts";
import { pattern, type Pattern } from "../pattern.ts";
import { CLOSED_WORD } from "../search-after.ts";
import { digits, end, identifier, ows, quote, rws, wordBoundary } from "../tokens.ts";
import { wordSetOf } from "../word-set.ts";
import { PLAIN_COMMANDS } from "./shell-commands.ts";
import { afterBraceAndCommand, afterCommand, BEFORE_COMMAND } from "./shell-context.ts";
import { anyCommand, option, path } from "./shell-grammar.ts";
import { isQuotedWord } from "./shell-names.ts";

const commandPart: Matcher = run(LETTER, 1, 5);
const commandRest: Matcher = run(LETTER, 1, 12);
/** Every start of a command name that a rest follows. */
const commandParts = () =>
  wordSetOf([...PLAIN_COMMANDS].flatMap((name) => Array.from(name, (_, index) => name.slice(0, index))));
const matchSplitCommand = (input: NormalizedText, at: number): number => {
  const partEnd = commandPart(input, at);
  if (partEnd < 0 || unitAt(input, partEnd) !== unitAt(input, at - 1)) return NO_MATCH;
  const end = commandRest(input, partEnd + 1);
  if (end < 0) return NO_MATCH;
  const command = lowerCaseText(input, at, partEnd) + lowerCaseText(input, partEnd + 1, end);
  return PLAIN_COMMANDS.has(command) ? end : NO_MATCH;
};
/** `'una'me`: a command name with quotes around part of it. */
const splitCommand: Matcher = searching(
  CLOSED_WORD,
  withWords(commandParts, withFirstSetOf(commandPart, false, matchSplitCommand)),
);
const functionName = choice(run(WORD, 1, 24), lit(":"));
const inBackground = seq(opt(lit("()")), ows, oneOf("|&"), ows);
/** A function that runs itself twice, as in a fork bomb: `f | f &`. */
const recursion: Matcher = (input, at) => {
  const nameEnd = functionName(input, at);
  const second = nameEnd < 0 ? NO_MATCH : inBackground(input, nameEnd);
  const length = nameEnd - at;
  return second >= 0 && isSameText(input, at, second, length) ? second + length : NO_MATCH;
};

export const SHELL_OBFUSCATED: readonly Pattern[] = [
  pattern("shell.field-separator", ["${ifs", "$ifs"], {
    catches: "the variable that attacks use instead of a space, after a word",
    from: "relaxed",
    finds: ["cat${IFS}x", "cat$IFS$9x", "cat$IFS x", "cat${IFS:0:1}x"],
    ignores: ["x$ifstream", "x${ifsample}", 'IFS="${ifs}"'],
    precededBy: charSet(WORD),
    after: wordBoundary,
  }),
  pattern("shell.field-separator", ["${ifs", "$ifs"], {
    catches: "the variable that attacks use instead of a space, before a path, an option or another variable",
    from: "balanced",
    finds: ["'cat'${IFS}/x", "{$IFS$9x", "'ls'${IFS}-la"],
    ignores: ["old=$IFS", "$ifstream", 'old="${IFS}"'],
    after: seq(opt(lit("}")), oneOf("$/-")),
  }),
  pattern("shell.expansion", ["${path", "${home", "${pwd", "${shell"], {
    catches: "a part of a variable that spells a character, such as `${HOME:0:1}`",
    from: "relaxed",
    finds: ["${PATH:0:1}", "${HOME:0:1}etc", "${PWD:0:1}", "${SHELL:4:1}", "${HOME#{}/}"],
    ignores: ["${PATH:-/usr/bin}", "${HOME}/x", "${PATH##*/}"],
    after: choice(seq(lit(":"), digits, lit(":")), lit("#{")),
  }),
  pattern("shell.alias", ["alias "], {
    catches: "an alias, which replaces a command",
    from: "balanced",
    finds: ["alias ls='rm x'", "alias -p x=id", "alias +g+ x=y", "alias ls-al=ls"],
    ignores: ["the alias x is set", "unalias x=y", "aliases a=b"],
    precededBy: BEFORE_COMMAND,
    after: seq(
      times(0, 2, seq(oneOf("-+"), run(LETTER, 1, 4), opt(lit("+")), rws)),
      times(1, 3, seq(run(WORD, 1, 24), opt(lit("-")))),
      lit("="),
      choice(quote, identifier),
    ),
  }),
  pattern("shell.shellshock", ["() {", "(){"], {
    catches: "a function definition that only starts commands: Shellshock, fork bombs",
    from: "relaxed",
    finds: [
      "() { :;}; id",
      "b(){ b|b& };b",
      "f() { f|f& };f",
      "g(){ g() | g(); }; g",
      "() { _; } >_[$($())] { id; }",
    ],
    ignores: [
      "main() { run; }",
      "go() { go || return; }",
      "classId() { return &id; }",
      "f() { :; return; }",
      "log() { :; }",
    ],
    after: seq(ows, choice(seq(lit(":"), ows, lit(";"), ows, lit("};")), recursion, lit("_;"))),
  }),
  pattern("shell.here-string", ["<<<"], {
    catches: "a text that is given to a command as its input",
    from: "balanced",
    finds: ["cat<<<'x'", "sh <<< $(x)", "base64 -d <<< id"],
    ignores: ["<<<<<<< HEAD", "<<< EOF", "x <<< see above"],
    before: (input, at) => (isInClass(unitAt(input, at - 1), WORD | WHITESPACE) ? at : NO_MATCH),
    after: seq(ows, choice(quote, lit("$("), anyCommand)),
  }),
  pattern("shell.brace-expansion", [",-", ",/"], {
    catches: "a command and its arguments as a list in braces",
    from: "relaxed",
    finds: ["{cat,/etc/x}", "{nc,-nlvp,777}", "{ls,-la}", "{cat,/?}"],
    ignores: ["{a,/b}", "{x,-y}", "cat,-n,", "{cat,/", "{ls,-"],
    before: afterBraceAndCommand,
    after: choice(run(LETTER, 1, 10), oneOf("?*")),
  }),
  pattern("shell.brace-expansion", ["{,"], {
    catches: "a command in a list in braces that starts with an empty element",
    from: "relaxed",
    finds: ["{,netstat}", "{,$'uname',}", "{,/?s?/x}"],
    ignores: ["{, b}", "{,catalog}"],
    after: choice(
      seq(times(0, 2, oneOf("$'\"")), anyCommand, times(0, 2, oneOf("'\"")), oneOf(",}")),
      lit("/?"),
    ),
  }),
  pattern("shell.split-word", ["$@", "$*", "$()", "``", "<()", ">()"], {
    catches: "an expansion without a value inside a word",
    from: "relaxed",
    finds: ["c$@at /x", "c$@at/x", "c$*at /x", "pi$()ng x", "pi``ng x", "pi<()ng x", "pi>()ng x"],
    ignores: ["a ``quoted'' word", "f$@", "Array<()void>"],
    before: insideWord,
    after: seq(run(LETTER, 1, 12), choice(oneOf("$+/"), rws)),
  }),
  pattern("shell.split-word", ["``", "$()"], {
    catches: "an expansion without a value after a command",
    from: "relaxed",
    finds: ["ping`` 192.0.2.1", "cat$() /tmp", "ls`` -la"],
    ignores: ["word`` 5", "$() 5", "ping`` me"],
    before: afterCommand,
    after: seq(rws, choice(digits, path, option)),
  }),
  pattern("shell.split-word", ["'", '"'], {
    catches: "a command with quotes around part of its name",
    from: "relaxed",
    finds: ["'una'me", '"if"config'],
    ignores: ["that's 'the'ory", "x'una'me", "the 'wh' sound"],
    precededBy: NOT_WORD,
    after: splitCommand,
  }),
  pattern("shell.assembled", ["&&$", ";$"], {
    catches: "a command that is put together from variables",
    from: "balanced",
    finds: ["a=cat&&b=x&&$a $b", "x=ls;$x$y", "x=ls;$x notes", "a=cat;$a /x"],
    ignores: ["$a=1;$b=2;", "a;$b;"],
    after: seq(identifier, choice(seq(lit("$"), identifier), seq(rws, choice(identifier, oneOf("$/"))))),
  }),
  pattern("shell.history", ["!-"], {
    catches: "commands of the history, repeated by number",
    from: "relaxed",
    finds: ["!-2!-3"],
    ignores: ["5!-1", "!-1", "yes!-2!-3"],
    precededBy: NOT_WORD,
    after: seq(digits, lit("!-"), digits),
  }),
  pattern("shell.quoted-command", ["'", '"'], {
    catches: "a command name in quotes with an argument",
    from: "balanced",
    finds: ["'cat' /etc/hosts", '"ls" -la', '"time" uname'],
    ignores: [
      "the 'cat' -- a pet",
      "#define MODE 'ls'\n/* x */",
      "x'cat' /etc",
      "'cat' food",
      "'time' who knows",
    ],
    precededBy: NOT_WORD,
    after: searching(
      CLOSED_WORD,
      where(isQuotedWord, seq(anyCommand, quote, lit(" "), choice(path, option, seq(anyCommand, end)))),
    ),
  }),
];

/** Matches inside a word of at most five letters so far. */
function insideWord(input: NormalizedText, at: number): number {
  const before = unitAt(input, at - 1);
  return isInClass(before, LETTER) && !isInClass(unitAt(input, at - 6), LETTER) ? at : NO_MATCH;
}
