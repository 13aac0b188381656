// Building blocks of the shell patterns: command names, arguments that do not occur in prose, and where a command may start.
import { isInClass, LETTER, NEWLINE, QUOTE, SPACE, WHITESPACE, WORD } from "../char-classes.ts";
import { DASH, DOT, PIPE } from "../char-codes.ts";
import { charSet, charSetExcept, charSetHas } from "../char-set.ts";
import { choice, except, keyword, lit, not, oneOf, opt, peek, run, seq, times } from "../combinators.ts";
import { KeywordSet, lowerCaseText, splitWords } from "../keyword-set.ts";
import type { LookBehind } from "../look-behind.ts";
import { NO_MATCH, withPrefixes, zeroWidth, type Matcher } from "../matcher.ts";
import { unitAt, type NormalizedText } from "../normalized-text.ts";
import { hasPrefix, prefixesOf, prefixesStartingWith, unionOfPrefixes } from "../prefix-set.ts";
import { digits, end, identifier, ows, quote, rws, wordBoundary } from "../tokens.ts";
import { COMMANDS, PLAIN_COMMANDS, WORD_COMMANDS } from "./shell-commands.ts";

/** Matches one of the command names, optionally in quotes. Not a file name (`cat.txt`) or a possessive (`cat's`). */
export function commandOf(names: Iterable<string>): Matcher {
  const known = new KeywordSet(names);
  const prefixes = unionOfPrefixes(prefixesOf(names), prefixesStartingWith(charSet(QUOTE)));
  return withPrefixes(prefixes, (input, at) => {
    if (!hasPrefix(prefixes, unitAt(input, at), unitAt(input, at + 1))) return NO_MATCH;
    const isQuoted = isInClass(unitAt(input, at), QUOTE);
    const start = isQuoted ? at + 1 : at;
    let end = start;
    while (end - start < 24 && (isInClass(unitAt(input, end), WORD) || unitAt(input, end) === DASH)) end++;
    input.work.steps += end - start + 1;
    if (!known.has(input, start, end)) return NO_MATCH;
    if (!isQuoted) return unitAt(input, end) === DOT || isTextAt(input, end, "'s") ? NO_MATCH : end;
    return isInClass(unitAt(input, end), QUOTE) ? end + 1 : NO_MATCH;
  });
}

/** Returns whether the lower-case text is at this position, ignoring ASCII case. */
function isTextAt(input: NormalizedText, at: number, text: string): boolean {
  return lowerCaseText(input, at, at + text.length) === text;
}

export const plainCommand = commandOf(PLAIN_COMMANDS);
export const wordCommand = commandOf(WORD_COMMANDS);
export const anyCommand = commandOf(COMMANDS);
export const binaryPath: Matcher = seq(
  lit("/"),
  choice(lit("bin/"), lit("sbin/"), lit("usr/bin/"), lit("usr/sbin/"), lit("usr/local/bin/")),
  run(WORD, 2, 24),
);
export const rootDirectory = choice(
  ...splitWords(`
  etc bin usr var tmp proc dev home root opt sbin mnt srv sys boot lib
`).map((name) => seq(lit(name), choice(oneOf("/*"), wordBoundary))),
);
export const path: Matcher = choice(
  seq(
    lit("/"),
    choice(rootDirectory, seq(run(WORD, 1, 40), oneOf("/.")), oneOf("*?["), seq(not(oneOf(" /")), end), end),
  ),
  seq(lit("../"), opt(lit("../"))),
  lit("~/"),
  seq(lit("./"), run(WORD, 1, 40)),
  seq(run(LETTER, 1, 1), lit(":\\")),
  lit("\\\\"),
);
export const option: Matcher = seq(lit("-"), opt(lit("-")), run(LETTER, 1, 24), not(lit("'")));
const variable: Matcher = seq(lit("$"), choice(lit("("), lit("{"), identifier, oneOf("@*!?")));
export const fileName: Matcher = seq(
  run(WORD, 1, 40),
  lit("."),
  choice(
    ...splitWords(`
  sh txt php py pl rb log conf ini gz bak sql pem key exe bat ps1 html xml json js env tar zip csv
`).map((name) => seq(lit(name), wordBoundary)),
  ),
);
export const address: Matcher = choice(
  seq(choice(lit("http"), lit("ftp"), lit("tftp")), opt(lit("s")), lit("://")),
  seq(digits, lit("."), digits, lit("."), digits, lit("."), digits),
);
export const redirection: Matcher = choice(
  seq(oneOf("<>"), ows, choice(oneOf("/&"), fileName, path, lit("<"))),
  seq(lit("|"), ows, choice(plainCommand, binaryPath)),
  lit("<<"),
);
/** A variable as an argument, but not the `$f(x)$` and `$x$` of TeX. */
const expansion: Matcher = seq(
  lit("$"),
  choice(lit("("), lit("{"), oneOf("@*!?"), seq(identifier, peek(choice(end, oneOf(" \n\"'/;|&)`:"))))),
);
export const shellArgument: Matcher = choice(
  path,
  option,
  expansion,
  redirection,
  address,
  fileName,
  seq(quote, choice(path, option, expansion)),
  lit("%"),
  lit("`"),
);
/** Matches where a command ends: at a separator, a quote or the end of the text. */
export const commandEnd: Matcher = choice(end, peek(oneOf(";|&`)'\"<>#\n\\")));
/** Matches a command with an argument that does not occur in prose, or with nothing after it. */
export const commandLine: Matcher = choice(
  seq(lit("sleep"), rws, digits),
  seq(lit("net"), rws, keyword(["user", "localgroup", "view", "share", "use"])),
  seq(lit("dir"), end),
  seq(choice(seq(plainCommand, choice(commandEnd, rws, peek(oneOf("$/{+")))), binaryPath)),
  seq(
    wordCommand,
    choice(
      seq(rws, shellArgument),
      seq(peek(oneOf("$<>/+")), opt(lit("+")), choice(variable, redirection, path)),
    ),
  ),
  seq(
    variable,
    times(0, 12, choice(variable, identifier)),
    rws,
    choice(anyCommand, path, address, identifier),
  ),
);
/** Plain commands that also occur in prose after `;`: more than the name must follow. */
const ambiguousCommand = commandOf(
  splitWords(`
  gcc id env kill nice watch timeout php python ruby perl reg lua passwd sudo tar zip tee dash bash ping
  vi ss od ab su df du ls ps id hostname cmd nano apt brew perf halt shutdown grep curl pv irb gzip expr ln
  cp
`),
);
/** What follows a command that has arguments or ends here. */
const argumentsFollow: Matcher = choice(
  commandEnd,
  peek(oneOf("$<>/+{")),
  seq(rws, choice(shellArgument, commandEnd, seq(identifier, choice(end, peek(oneOf("|<>")))))),
  end,
);
/** Matches unless the next word is prose rather than a command. */
export const notProse: Matcher = zeroWidth((input, at) => {
  if (isInClass(unitAt(input, at), LETTER) && anyCommand(input, at) < 0) return NO_MATCH;
  const command = ambiguousCommand(input, at);
  if (command < 0) return at;
  return argumentsFollow(input, command) < 0 || isProseAfter(input, command) ? NO_MATCH : at;
});
const PROSE_WORDS = new Set(
  splitWords(`
  is are was and or the a an of to in for with can will has have should must code script scripts commands
  command would not does do as that this on it
`),
);
const proseWord: Matcher = seq(rws, keyword(PROSE_WORDS));
const punctuation: Matcher = seq(ows, oneOf(",:.!?"));
/** Returns whether prose continues after a command name on the same line. */
function isProseAfter(input: NormalizedText, at: number): boolean {
  if (unitAt(input, at) === NEWLINE) return false;
  return proseWord(input, at) >= 0 || (punctuation(input, at) >= 0 && end(input, at) < 0);
}

/** Filters that ordinary scripts pipe text through, unless they are given an absolute path to read. */
export const textFilter: Matcher = seq(
  keyword(
    splitWords(`
  grep egrep awk sed sort uniq wc head tail cut tr jq less more tee xargs column
`),
  ),
  not(seq(rws, opt(seq(option, rws)), lit("/"))),
);

/** Matches unless `|` separates the cells of a Markdown table: spaces on both sides and another `|` on the same line. */
export const notInTable: LookBehind = (input, at) => {
  if (unitAt(input, at - 1) !== SPACE && at > 0 && unitAt(input, at - 1) !== NEWLINE) return at;
  const start = at + 1;
  for (let index = start; index < start + 40; index++) {
    input.work.steps++;
    const code = unitAt(input, index);
    if (code === 0 || code === NEWLINE) break;
    if (
      code === PIPE &&
      unitAt(input, index + 1) !== PIPE &&
      unitAt(input, index - 1) === SPACE &&
      unitAt(input, at + 1) === SPACE &&
      isTableRow(input, at)
    )
      return NO_MATCH;
  }
  return at;
};

/** Returns whether the line starts with `|`, as a table row does. */
function isTableRow(input: NormalizedText, at: number): boolean {
  for (let index = at - 1; index >= Math.max(0, at - 120); index--) {
    input.work.steps++;
    const code = unitAt(input, index);
    if (code === NEWLINE || index === 0)
      return unitAt(input, index === 0 && code !== NEWLINE ? 0 : index + 1) === PIPE;
  }
  return false;
}

const CODE_BEFORE_BACKTICK = charSet(WORD, "=;&\"'$@-");
/** Matches if code precedes the backtick directly. In Markdown, a space or an opening bracket precedes it. */
export const backtickAfterCode: LookBehind = (input, at) =>
  charSetHas(CODE_BEFORE_BACKTICK, unitAt(input, at - 1)) ? at : NO_MATCH;

/** Names that are also nouns or verbs: "in the file /usr/share/…" is a sentence. */
const commandNameInProse = commandOf(
  splitWords(`
    file find sort more less head tail type install copy touch paste diff mount strings source cut dir
  `),
);
/** Matches unless a word precedes and the command name is also a noun or verb. */
export const notInSentence: LookBehind = (input, at) =>
  isInClass(unitAt(input, at - 1), WHITESPACE) &&
  isInClass(unitAt(input, at - 2), LETTER) &&
  commandNameInProse(input, at) >= 0
    ? NO_MATCH
    : at;

/** Matches unless a word and a space precede, as in "the `ls` command". */
export const backtickOutsideProse: LookBehind = (input, at) =>
  isInClass(unitAt(input, at - 1), WHITESPACE | WORD) && isInClass(unitAt(input, at - 2), LETTER)
    ? NO_MATCH
    : at;

/** A path in a working directory at the end of a line: `cd /home/me/project` alone on a line is an ordinary session log. */
export const workingDirectory: Matcher = seq(
  choice(
    seq(lit("/"), keyword(["tmp", "home", "opt", "usr", "mnt", "srv", "var"])),
    seq(lit("../"), identifier),
    lit("~/"),
  ),
  except(" \n;&|", 0, 80),
  lit("\n"),
);

/** Units that may precede a command: not the inside of a word, a path or an option. */
export const BEFORE_COMMAND = charSetExcept(WORD, "-./$");
/** Units that a command line may start with. */
export const COMMAND_LINE_START = charSet(WHITESPACE | LETTER | QUOTE, "/$({!@\\");
/** Units that may precede an absolute path: not the inside of a URL or of a relative path. */
export const BEFORE_PATH = charSetExcept(WORD, "./:#!}*");
