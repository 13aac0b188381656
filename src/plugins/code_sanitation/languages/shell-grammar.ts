// What shell patterns are made of: command names, arguments that prose does not have, and where a command may stand.
import { isInClass, LETTER, NEWLINE, QUOTE, SPACE, WHITESPACE, WORD } from "../char-classes.ts";
import { charSet, charSetExcept } from "../char-set.ts";
import { choice, except, keyword, lit, not, oneOf, opt, peek, run, seq, times } from "../combinators.ts";
import { KeywordSet, lowerCaseText, splitWords } from "../keyword-set.ts";
import type { LookBehind } from "../look-behind.ts";
import { NO_MATCH, withPrefixes, zeroWidth, type Matcher } from "../matcher.ts";
import { unitAt, type NormalizedText } from "../normalized-text.ts";
import { hasPrefix, prefixesOf, prefixesStartingWith, unionOfPrefixes } from "../prefix-set.ts";
import { digits, end, identifier, ows, quote, rws, wordBoundary } from "../tokens.ts";
import { COMMANDS, PLAIN_COMMANDS, WORD_COMMANDS } from "./shell-commands.ts";

export const DASH = 0x2d;

/** A command's name: a word that may hold dashes and dots, perhaps behind a path and in quotes. */
export function commandOf(names: Iterable<string>): Matcher {
  const known = new KeywordSet(names);
  const opening = unionOfPrefixes(prefixesOf(names), prefixesStartingWith(charSet(QUOTE)));
  return withPrefixes(opening, (input, at) => {
    if (!hasPrefix(opening, unitAt(input, at), unitAt(input, at + 1))) return NO_MATCH;
    let from = at;
    const quoted = isInClass(unitAt(input, from), QUOTE);
    if (quoted) from++;
    let stop = from;
    while (stop - from < 24 && (isInClass(unitAt(input, stop), WORD) || unitAt(input, stop) === DASH)) stop++;
    input.work.steps += stop - from + 1;
    if (!known.has(input, from, stop)) return NO_MATCH;
    if (!quoted) return unitAt(input, stop) === 0x2e || exactly(input, stop, "'s") ? NO_MATCH : stop;
    return isInClass(unitAt(input, stop), QUOTE) ? stop + 1 : NO_MATCH;
  });
}

export function exactly(input: NormalizedText, at: number, text: string): boolean {
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
export const variable: Matcher = seq(lit("$"), choice(lit("("), lit("{"), identifier, oneOf("@*!?")));
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
/** A variable as an argument. TeX writes `$f(x)$` and `$x$`. */
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
export const stops: Matcher = choice(end, peek(oneOf(";|&`)'\"<>#\n\\")));
/** What makes the rest a command line: an end, or an argument that prose does not have. */
export const commandLine: Matcher = choice(
  seq(lit("sleep"), rws, digits),
  seq(lit("net"), rws, keyword(["user", "localgroup", "view", "share", "use"])),
  seq(lit("dir"), end),
  seq(choice(seq(plainCommand, choice(stops, rws, peek(oneOf("$/{+")))), binaryPath)),
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
/** Behind `;` prose goes on too, with words that are commands: more than the name must follow. */
export const needsMore = commandOf(
  splitWords(`
  gcc id env kill nice watch timeout php python ruby perl reg lua passwd sudo tar zip tee dash bash ping
  vi ss od ab su df du ls ps id hostname cmd nano apt brew perf halt shutdown grep curl pv irb gzip expr ln
  cp
`),
);
export const moreFollows: Matcher = choice(
  stops,
  peek(oneOf("$<>/+{")),
  seq(rws, choice(shellArgument, stops, seq(identifier, choice(end, peek(oneOf("|<>")))))),
  end,
);
export const notProse: Matcher = zeroWidth((input, at) => {
  if (isInClass(unitAt(input, at), LETTER) && anyCommand(input, at) < 0) return NO_MATCH;
  const command = needsMore(input, at);
  if (command < 0) return at;
  return moreFollows(input, command) < 0 || isProseAfter(input, command) ? NO_MATCH : at;
});
export const PROSE_WORDS = new Set(
  splitWords(`
  is are was and or the a an of to in for with can will has have should must code script scripts commands
  command would not does do as that this on it
`),
);
export const proseWord: Matcher = seq(rws, keyword(PROSE_WORDS));
export const punctuation: Matcher = seq(ows, oneOf(",:.!?"));
export function isProseAfter(input: NormalizedText, at: number): boolean {
  if (unitAt(input, at) === NEWLINE) return false;
  return proseWord(input, at) >= 0 || (punctuation(input, at) >= 0 && end(input, at) < 0);
}

/** What scripts pipe text through all day, unless it is given a file to read. */
export const textFilter: Matcher = seq(
  keyword(
    splitWords(`
  grep egrep awk sed sort uniq wc head tail cut tr jq less more tee xargs column
`),
  ),
  not(seq(rws, opt(seq(option, rws)), lit("/"))),
);

/** Not the cell of a Markdown table, nor a union type: those have blanks on both sides of `|` and another one behind. */
export const notTable: LookBehind = (input, at) => {
  if (unitAt(input, at - 1) !== SPACE && at > 0 && unitAt(input, at - 1) !== NEWLINE) return at;
  const start = at + 1;
  for (let index = start; index < start + 40; index++) {
    input.work.steps++;
    const code = unitAt(input, index);
    if (code === 0 || code === NEWLINE) break;
    if (
      code === 0x7c &&
      unitAt(input, index + 1) !== 0x7c &&
      unitAt(input, index - 1) === SPACE &&
      unitAt(input, at + 1) === SPACE &&
      isTableRow(input, at)
    )
      return NO_MATCH;
  }
  return at;
};

/** A row of a table starts with its bar. */
export function isTableRow(input: NormalizedText, at: number): boolean {
  for (let index = at - 1; index >= Math.max(0, at - 120); index--) {
    input.work.steps++;
    const code = unitAt(input, index);
    if (code === NEWLINE || index === 0)
      return unitAt(input, index === 0 && code !== NEWLINE ? 0 : index + 1) === 0x7c;
  }
  return false;
}

/** The backtick touches what is before it: Markdown's stands behind a blank or an opening bracket. */
export const attachedBacktick: LookBehind = (input, at) => {
  const before = unitAt(input, at - 1);
  return isInClass(before, WORD) || (before !== 0 && "=;&\"'$@-".includes(String.fromCharCode(before)))
    ? at
    : NO_MATCH;
};

/** Names that are nouns and verbs too: "in the file /usr/share/…" is a sentence. */
const spokenName = commandOf(
  splitWords(`
    file find sort more less head tail type install copy touch paste diff mount strings source cut dir
  `),
);
export const notSpokenOf: LookBehind = (input, at) =>
  isInClass(unitAt(input, at - 1), WHITESPACE) &&
  isInClass(unitAt(input, at - 2), LETTER) &&
  spokenName(input, at) >= 0
    ? NO_MATCH
    : at;

/** Nobody speaks before this backtick: no word and blank, as in "the `ls` command". */
export const unspokenBacktick: LookBehind = (input, at) =>
  isInClass(unitAt(input, at - 1), WHITESPACE | WORD) && isInClass(unitAt(input, at - 2), LETTER)
    ? NO_MATCH
    : at;

/** Where people work: `cd /home/me/project` on a line of its own is a session that somebody shows. */
export const workingDirectory: Matcher = seq(
  choice(
    seq(lit("/"), keyword(["tmp", "home", "opt", "usr", "mnt", "srv", "var"])),
    seq(lit("../"), identifier),
    lit("~/"),
  ),
  except(" \n;&|", 0, 80),
  lit("\n"),
);

/** A command may stand behind a blank, a separator, a quote or a bracket, but not inside a word, a path or an option. */
export const COMMAND_START = charSetExcept(WORD, "-./$");
/** What a command line may open with. */
export const COMMAND_EDGE = charSet(WHITESPACE | LETTER | QUOTE, "/$({!@\\");
/** A path starts here: not the middle of an address or of a relative path. */
export const PATH_START = charSetExcept(WORD, "./:#!}*");
