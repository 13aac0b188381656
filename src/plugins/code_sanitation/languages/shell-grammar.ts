// The grammar of a command line, read from left to right: command names, arguments that do not occur in prose, and whole
// commands. What precedes a command is in shell-context.ts.
import { DIGIT, isInClass, LETTER, NEWLINE, QUOTE, WORD } from "../char-classes.ts";
import { COLON } from "../char-codes.ts";
import { charSet, charSetHas } from "../char-set.ts";
import {
  choice,
  except,
  keyword,
  lit,
  not,
  oneOf,
  opt,
  peek,
  run,
  seq,
  times,
  where,
} from "../combinators.ts";
import { splitWords } from "../keyword-set.ts";
import { NO_MATCH, withPrefixes, zeroWidth, type Matcher } from "../matcher.ts";
import { unitAt, type NormalizedText } from "../normalized-text.ts";
import { prefixesOf } from "../prefix-set.ts";
import { digits, end, identifier, ows, quote, rws } from "../tokens.ts";
import {
  AMBIGUOUS_COMMANDS,
  BUILD_COMMANDS,
  COMMANDS,
  NAME_COMMANDS,
  PLAIN_COMMANDS,
  SUBSTITUTED_WORDS,
  WORD_COMMANDS,
} from "./shell-commands.ts";
import { commandOf, mayStartCommand } from "./shell-names.ts";

const UNDERSCORE = 0x5f;

// Command names.

export const plainCommand = commandOf(PLAIN_COMMANDS);
export const wordCommand = commandOf(WORD_COMMANDS);
export const anyCommand = commandOf(COMMANDS);
const nameCommand = commandOf(NAME_COMMANDS);
export const buildCommand = commandOf(BUILD_COMMANDS);
const ambiguousCommand = commandOf(AMBIGUOUS_COMMANDS);
/** `/bin/cat`, `/usr/bin/who`; a scanner also sends `usr/bin/id` without the slash. */
export const binaryPath: Matcher = seq(
  opt(lit("/")),
  opt(lit("usr/")),
  opt(lit("local/")),
  choice(lit("bin/"), lit("sbin/")),
  run(WORD, 2, 24),
);

// Arguments. None of these occurs after a word in prose.

/** What separates the words of a command line: a space, or `+` in a text that was encoded as a form. */
export const gap: Matcher = oneOf(" +");
const ROOT_DIRECTORIES = splitWords(`etc bin usr var tmp proc dev home root opt sbin mnt srv sys boot lib`);
export const rootDirectory: Matcher = keyword(ROOT_DIRECTORIES);
/** `C:\` or `C:/`. */
export const drive: Matcher = seq(driveLetter(), oneOf("\\/"));
function driveLetter(): Matcher {
  const letters = Array.from("abcdefghijklmnopqrstuvwxyz", (letter) => `${letter}:`);
  return withPrefixes(prefixesOf(letters), (input, at) =>
    isInClass(unitAt(input, at), LETTER) && unitAt(input, at + 1) === COLON ? at + 2 : NO_MATCH,
  );
}

export const path: Matcher = choice(
  seq(
    lit("/"),
    choice(rootDirectory, seq(run(WORD, 1, 40), oneOf("/.?*[")), oneOf("*?["), end, peek(oneOf(";&|"))),
  ),
  lit("../"),
  lit("~/"),
  seq(lit("./"), run(WORD, 1, 40)),
  drive,
);
export const option: Matcher = seq(lit("-"), opt(lit("-")), run(LETTER, 1, 24), run(DIGIT, 0, 4));
/** Options, and numbers that belong to them: `-n 20`. */
export const options: Matcher = times(0, 4, seq(choice(option, digits), rws));
export const fileName: Matcher = seq(
  run(WORD, 1, 40),
  lit("."),
  keyword(
    splitWords(
      `sh txt php py pl rb log conf cnf cfg ini yml yaml toml md gz bak sql db pem crt key exe bat ps1 html xml json js env tar zip csv`,
    ),
  ),
);
export const address: Matcher = choice(
  seq(keyword(["http", "https", "ftp"]), lit("://")),
  seq(digits, lit("."), digits, lit("."), digits, lit("."), digits),
);
const redirection: Matcher = choice(
  seq(oneOf("<>"), ows, choice(oneOf("/&<"), fileName, path)),
  seq(lit("|"), ows, choice(plainCommand, binaryPath)),
);
/** A variable or a substitution: `$HOME`, `${x}`, `$(id)`, `$@`. Not the `$f(x)$` and `$x$` of TeX. */
const expansion: Matcher = seq(
  lit("$"),
  choice(oneOf("({@*!?"), seq(identifier, peek(choice(end, oneOf(" \n\"'/;|&)`:"))))),
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
  seq(lit("`"), anyCommand),
);

/** Returns the work of a loop that only reads units: reading takes about a quarter of a step. */
export function stepsOfLoop(units: number): number {
  return 1 + (units >> 2);
}

const MAX_ATTEMPTS = 4;
/** Skips at most `max` units of the same line to the first match of the matcher, and tries it only at these characters. */
export function searchLine(characters: string, matcher: Matcher, max: number): Matcher {
  const starts = charSet(0, characters);
  return (input, at) => {
    const { codes } = input;
    const last = Math.min(at + max, input.length - 1);
    let attempts = 0;
    let index = at;
    for (; index <= last && attempts < MAX_ATTEMPTS; index++) {
      const code = codes[index] ?? 0;
      if (code === NEWLINE) break;
      if (!charSetHas(starts, code)) continue;
      attempts++;
      const end = matcher(input, index);
      if (end >= 0) return end;
    }
    input.work.steps += stepsOfLoop(index - at);
    return NO_MATCH;
  };
}

// Commands.

/** Matches where a command ends: at a separator, a quote, a closing parenthesis or the end of the text. */
export const commandEnd: Matcher = choice(end, peek(oneOf(";|&`)'\"<>#\n\\")));
/** What `echo` prints in a probe: one word, alone or with an expansion in it. PHP's `echo` needs quotes or a variable. */
const probe: Matcher = seq(run(WORD, 1, 24), choice(end, peek(oneOf(";|&`)\\")), lit("$(")));
/** A variable of PHP or Perl: `echo $name;` and `join $separator, @list` are statements of a program. */
const programVariable: Matcher = seq(lit("$"), zeroWidth(startsLowerCase));
const echo: Matcher = seq(lit("echo"), gap, probe);
/** Command names that are also statements of PHP or functions of Perl. */
const programStatement: Matcher = seq(
  keyword(splitWords(`echo eval exec exit join read rename sort split stat write`)),
  rws,
  programVariable,
);
/** Commands of Windows whose options start with a slash. */
const windowsCommand: Matcher = choice(
  seq(lit("dir"), choice(end, peek(oneOf("|&;")), seq(gap, lit("/")))),
  seq(lit("set"), gap, lit("/a")),
  seq(lit("net"), gap, keyword(["user", "localgroup", "view", "share", "use"])),
);
/** A control structure that runs commands: `if [ … ]`, `for x in $(ls)`, `while true; do`. */
const controlStructure: Matcher = choice(
  seq(keyword(["if", "while", "until"]), rws, choice(lit("["), lit("test "), lit("true;"), lit("$("))),
  seq(lit("for "), identifier, lit(" in "), oneOf("$`/*")),
);
/** Variables that are put together to a command: `$a$b /x`. */
const assembledCommand: Matcher = seq(
  lit("$"),
  identifier,
  times(0, 12, seq(lit("$"), identifier)),
  rws,
  choice(anyCommand, path, address, lit("$")),
);
/** Matches a command with an argument that does not occur in prose, or with nothing after it. */
const commandLine: Matcher = choice(
  seq(lit("sleep"), gap, digits),
  echo,
  windowsCommand,
  controlStructure,
  seq(plainCommand, choice(commandEnd, gap, peek(oneOf("$/{")))),
  binaryPath,
  seq(not(programStatement), wordCommand, choice(seq(gap, shellArgument), expansion, redirection)),
  assembledCommand,
);

function startsLowerCase(input: NormalizedText, at: number): number {
  const code = unitAt(input, at);
  return (code >= 0x61 && code <= 0x7a) || code === UNDERSCORE ? at : NO_MATCH;
}

/** What follows a command that has arguments or ends here. */
const argumentsFollow: Matcher = choice(
  commandEnd,
  peek(oneOf("$/+{")),
  seq(rws, choice(shellArgument, peek(oneOf(";|#")), digits, seq(identifier, peek(oneOf("|<>"))))),
);
const nameFollows: Matcher = seq(rws, identifier, end);
const PROSE_WORDS = splitWords(`
  is are was and or the a an of to in for with can will has have should must code script scripts commands command
  would not does do as that this on it from i you we they my your if but also so because which
`);
/** One of the words above, directly or after another word: "chown is …", "chown changes the …". */
const proseWord: Matcher = seq(keyword(PROSE_WORDS), choice(rws, end));
const proseFollows: Matcher = seq(rws, choice(proseWord, seq(run(LETTER, 2, 24), lit(" "), proseWord)));
const punctuation: Matcher = seq(ows, oneOf(",:.!?"), choice(rws, end));
/** Returns whether prose continues after a command name on the same line. */
function isProseAfter(input: NormalizedText, at: number): boolean {
  if (unitAt(input, at) === NEWLINE) return false;
  return proseFollows(input, at) >= 0 || (punctuation(input, at) >= 0 && end(input, at) < 0);
}
/** Matches unless the next word is prose or an identifier of a program rather than a command. */
export const notProse: Matcher = zeroWidth((input, at) => {
  if (!isInClass(unitAt(input, at), LETTER | QUOTE)) return at;
  const command = anyCommand(input, at);
  if (command < 0) return at;
  if (isProseAfter(input, command)) return NO_MATCH;
  if (ambiguousCommand(input, at) < 0 || argumentsFollow(input, command) >= 0) return at;
  return nameCommand(input, at) >= 0 && nameFollows(input, command) >= 0 ? at : NO_MATCH;
});
/** A command that is neither prose nor an identifier of a program. */
export const command: Matcher = where(mayStartCommand, seq(notProse, commandLine));
/** Matches unless the next word is a name that programs use for a variable, and one of these characters follows: `a || id;`. */
export function notIdentifierBefore(characters: string): Matcher {
  const afterName = seq(ows, oneOf(characters));
  return zeroWidth((input, at) => {
    const command = ambiguousCommand(input, at);
    return command >= 0 && afterName(input, command) >= 0 ? NO_MATCH : at;
  });
}

const insideSubstitution: Matcher = choice(peek(oneOf(")|;`$<{>&'\"")), gap);
/** The start of `$(…)` or of backticks: a command whose name is not a word. */
export const substitutedTool: Matcher = choice(seq(plainCommand, insideSubstitution), binaryPath);
/** The start of `$(…)` or of backticks: a command whose name is also a word. */
const substitutedWord: Matcher = choice(
  seq(commandOf(SUBSTITUTED_WORDS), insideSubstitution),
  seq(wordCommand, gap, shellArgument),
);
export const substitutedCommand: Matcher = choice(substitutedTool, substitutedWord);

/** Filters that ordinary scripts pipe text through, unless they are given an absolute path to read. */
export const textFilter: Matcher = seq(
  keyword(splitWords(`grep egrep awk sed sort uniq wc head tail cut tr jq less more tee xargs column`)),
  not(seq(rws, options, lit("/"))),
);

/** A path in a working directory at the end of a line: `cd /home/me/project` alone on a line is an ordinary session log. */
export const workingDirectory: Matcher = seq(
  choice(
    seq(lit("/"), keyword(["tmp", "home", "opt", "srv", "var"])),
    seq(lit("../"), identifier),
    lit("~/"),
    drive,
  ),
  except(" \n;&|", 0, 80),
  lit("\n"),
);
/** The mode of `chmod`: `755`, `u+x`. */
export const mode: Matcher = choice(
  seq(run(DIGIT, 3, 4), choice(rws, end)),
  seq(times(0, 4, oneOf("ugoa")), oneOf("+=-"), times(1, 5, oneOf("rwxst")), rws),
);
