// What shell patterns are made of: command names, arguments that prose does not have, and where a command may stand.
import { BLANK, isOf, LETTER, NEWLINE, QUOTE, SPACE, WORD } from "../char-classes.ts";
import { edge, edgeWithout } from "../edge.ts";
import {
  any,
  blanks,
  digits,
  end,
  except,
  gap,
  identifier,
  lit,
  lowerText,
  NO_MATCH,
  not,
  oneOf,
  opt,
  peek,
  quote,
  run,
  seq,
  times,
  type Before,
  word,
  wordEnd,
  words,
  WordSet,
} from "../grammar.ts";
import { joinOpenings, openingOf, openingOfTexts, opens } from "../opening.ts";
import { readingNothing, startingWith, type Rule } from "../rule.ts";
import { type View, unitAt } from "../view.ts";
import { COMMANDS, PLAIN_COMMANDS, WORD_COMMANDS } from "./shell-commands.ts";

export const DASH = 0x2d;

/** A command's name: a word that may hold dashes and dots, perhaps behind a path and in quotes. */
export function commandOf(names: Iterable<string>): Rule {
  const known = new WordSet(names);
  const opening = joinOpenings(openingOfTexts(names), openingOf(edge(QUOTE)));
  return startingWith(opening, (view, at) => {
    if (!opens(opening, unitAt(view, at), unitAt(view, at + 1))) return NO_MATCH;
    let from = at;
    const quoted = isOf(unitAt(view, from), QUOTE);
    if (quoted) from++;
    let stop = from;
    while (stop - from < 24 && (isOf(unitAt(view, stop), WORD) || unitAt(view, stop) === DASH)) stop++;
    view.work.steps += stop - from + 1;
    if (!known.has(view, from, stop)) return NO_MATCH;
    if (!quoted) return unitAt(view, stop) === 0x2e || exactly(view, stop, "'s") ? NO_MATCH : stop;
    return isOf(unitAt(view, stop), QUOTE) ? stop + 1 : NO_MATCH;
  });
}

export function exactly(view: View, at: number, text: string): boolean {
  return lowerText(view, at, at + text.length) === text;
}

export const plainCommand = commandOf(PLAIN_COMMANDS);
export const wordCommand = commandOf(WORD_COMMANDS);
export const anyCommand = commandOf(COMMANDS);
export const binaryPath: Rule = seq(
  lit("/"),
  any(lit("bin/"), lit("sbin/"), lit("usr/bin/"), lit("usr/sbin/"), lit("usr/local/bin/")),
  run(WORD, 2, 24),
);
export const rootDirectory = any(
  ...words(`
  etc bin usr var tmp proc dev home root opt sbin mnt srv sys boot lib
`).map((name) => seq(lit(name), any(oneOf("/*"), wordEnd))),
);
export const path: Rule = any(
  seq(
    lit("/"),
    any(rootDirectory, seq(run(WORD, 1, 40), oneOf("/.")), oneOf("*?["), seq(not(oneOf(" /")), end), end),
  ),
  seq(lit("../"), opt(lit("../"))),
  lit("~/"),
  seq(lit("./"), run(WORD, 1, 40)),
  seq(run(LETTER, 1, 1), lit(":\\")),
  lit("\\\\"),
);
export const option: Rule = seq(lit("-"), opt(lit("-")), run(LETTER, 1, 24), not(lit("'")));
export const variable: Rule = seq(lit("$"), any(lit("("), lit("{"), identifier, oneOf("@*!?")));
export const fileName: Rule = seq(
  run(WORD, 1, 40),
  lit("."),
  any(
    ...words(`
  sh txt php py pl rb log conf ini gz bak sql pem key exe bat ps1 html xml json js env tar zip csv
`).map((name) => seq(lit(name), wordEnd)),
  ),
);
export const address: Rule = any(
  seq(any(lit("http"), lit("ftp"), lit("tftp")), opt(lit("s")), lit("://")),
  seq(digits, lit("."), digits, lit("."), digits, lit("."), digits),
);
export const redirection: Rule = any(
  seq(oneOf("<>"), blanks, any(oneOf("/&"), fileName, path, lit("<"))),
  seq(lit("|"), blanks, any(plainCommand, binaryPath)),
  lit("<<"),
);
/** A variable as an argument. TeX writes `$f(x)$` and `$x$`. */
const expansion: Rule = seq(
  lit("$"),
  any(lit("("), lit("{"), oneOf("@*!?"), seq(identifier, peek(any(end, oneOf(" \n\"'/;|&)`:"))))),
);
export const shellArgument: Rule = any(
  path,
  option,
  expansion,
  redirection,
  address,
  fileName,
  seq(quote, any(path, option, expansion)),
  lit("%"),
  lit("`"),
);
export const stops: Rule = any(end, peek(oneOf(";|&`)'\"<>#\n\\")));
/** What makes the rest a command line: an end, or an argument that prose does not have. */
export const commandLine: Rule = any(
  seq(lit("sleep"), gap, digits),
  seq(lit("net"), gap, word(["user", "localgroup", "view", "share", "use"])),
  seq(lit("dir"), end),
  seq(any(seq(plainCommand, any(stops, gap, peek(oneOf("$/{+")))), binaryPath)),
  seq(
    wordCommand,
    any(seq(gap, shellArgument), seq(peek(oneOf("$<>/+")), opt(lit("+")), any(variable, redirection, path))),
  ),
  seq(variable, times(0, 12, any(variable, identifier)), gap, any(anyCommand, path, address, identifier)),
);
/** Behind `;` prose goes on too, with words that are commands: more than the name must follow. */
export const needsMore = commandOf(
  words(`
  gcc id env kill nice watch timeout php python ruby perl reg lua passwd sudo tar zip tee dash bash ping
  vi ss od ab su df du ls ps id hostname cmd nano apt brew perf halt shutdown grep curl pv irb gzip expr ln
  cp
`),
);
export const moreFollows: Rule = any(
  stops,
  peek(oneOf("$<>/+{")),
  seq(gap, any(shellArgument, stops, seq(identifier, any(end, peek(oneOf("|<>")))))),
  end,
);
export const notProse: Rule = readingNothing((view, at) => {
  if (isOf(unitAt(view, at), LETTER) && anyCommand(view, at) < 0) return NO_MATCH;
  const command = needsMore(view, at);
  if (command < 0) return at;
  return moreFollows(view, command) < 0 || isProseBehind(view, command) ? NO_MATCH : at;
});
export const PROSE_WORDS = new Set(
  words(`
  is are was and or the a an of to in for with can will has have should must code script scripts commands
  command would not does do as that this on it
`),
);
export const proseWord: Rule = seq(gap, word(PROSE_WORDS));
export const punctuation: Rule = seq(blanks, oneOf(",:.!?"));
export function isProseBehind(view: View, at: number): boolean {
  if (unitAt(view, at) === NEWLINE) return false;
  return proseWord(view, at) >= 0 || (punctuation(view, at) >= 0 && end(view, at) < 0);
}

/** What scripts pipe text through all day, unless it is given a file to read. */
export const textFilter: Rule = seq(
  word(
    words(`
  grep egrep awk sed sort uniq wc head tail cut tr jq less more tee xargs column
`),
  ),
  not(seq(gap, opt(seq(option, gap)), lit("/"))),
);

/** Not the cell of a Markdown table, nor a union type: those have blanks on both sides of `|` and another one behind. */
export const notTable: Before = (view, at) => {
  if (unitAt(view, at - 1) !== SPACE && at > 0 && unitAt(view, at - 1) !== NEWLINE) return at;
  const start = at + 1;
  for (let index = start; index < start + 40; index++) {
    view.work.steps++;
    const code = unitAt(view, index);
    if (code === 0 || code === NEWLINE) break;
    if (
      code === 0x7c &&
      unitAt(view, index + 1) !== 0x7c &&
      unitAt(view, index - 1) === SPACE &&
      unitAt(view, at + 1) === SPACE &&
      isTableRow(view, at)
    )
      return NO_MATCH;
  }
  return at;
};

/** A row of a table starts with its bar. */
export function isTableRow(view: View, at: number): boolean {
  for (let index = at - 1; index >= Math.max(0, at - 120); index--) {
    view.work.steps++;
    const code = unitAt(view, index);
    if (code === NEWLINE || index === 0)
      return unitAt(view, index === 0 && code !== NEWLINE ? 0 : index + 1) === 0x7c;
  }
  return false;
}

/** The backtick touches what is before it: Markdown's stands behind a blank or an opening bracket. */
export const attachedBacktick: Before = (view, at) => {
  const before = unitAt(view, at - 1);
  return isOf(before, WORD) || (before !== 0 && "=;&\"'$@-".includes(String.fromCharCode(before)))
    ? at
    : NO_MATCH;
};

/** Names that are nouns and verbs too: "in the file /usr/share/…" is a sentence. */
const spokenName = commandOf(
  words(`
    file find sort more less head tail type install copy touch paste diff mount strings source cut dir
  `),
);
export const notSpokenOf: Before = (view, at) =>
  isOf(unitAt(view, at - 1), BLANK) && isOf(unitAt(view, at - 2), LETTER) && spokenName(view, at) >= 0
    ? NO_MATCH
    : at;

/** Nobody speaks before this backtick: no word and blank, as in "the `ls` command". */
export const unspokenBacktick: Before = (view, at) =>
  isOf(unitAt(view, at - 1), BLANK | WORD) && isOf(unitAt(view, at - 2), LETTER) ? NO_MATCH : at;

/** Where people work: `cd /home/me/project` on a line of its own is a session that somebody shows. */
export const workingDirectory: Rule = seq(
  any(
    seq(lit("/"), word(["tmp", "home", "opt", "usr", "mnt", "srv", "var"])),
    seq(lit("../"), identifier),
    lit("~/"),
  ),
  except(" \n;&|", 0, 80),
  lit("\n"),
);

/** A command may stand behind a blank, a separator, a quote or a bracket, but not inside a word, a path or an option. */
export const COMMAND_START = edgeWithout(WORD, "-./$");
/** What a command line may open with. */
export const COMMAND_EDGE = edge(BLANK | LETTER | QUOTE, "/$({!@\\");
/** A path starts here: not the middle of an address or of a relative path. */
export const PATH_START = edgeWithout(WORD, "./:#!}*");
