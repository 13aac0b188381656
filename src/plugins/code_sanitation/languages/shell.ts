// Shell: commands behind a separator or with a path, substitution, redirection, changes of directory and permission.
import { DIGIT, isInClass, LETTER, NEWLINE, WHITESPACE, WORD } from "../char-classes.ts";
import { charSet, charSetExcept } from "../char-set.ts";
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
  skipTo,
  times,
} from "../combinators.ts";
import { splitWords } from "../keyword-set.ts";
import { atWordStart } from "../look-behind.ts";
import { NO_MATCH } from "../matcher.ts";
import { unitAt, type NormalizedText } from "../normalized-text.ts";
import { pattern, type Pattern } from "../pattern.ts";
import { digits, end, ows, quote, rws, wordBoundary } from "../tokens.ts";
import { callPatterns } from "./calls.ts";
import { FILE_COMMANDS, PLAIN_COMMANDS, PREFIX_COMMANDS } from "./shell-commands.ts";
import {
  address,
  anyCommand,
  attachedBacktick,
  binaryPath,
  COMMAND_EDGE,
  COMMAND_START,
  commandLine,
  commandOf,
  fileName,
  notProse,
  notSpokenOf,
  notTable,
  option,
  path,
  PATH_START,
  plainCommand,
  redirection,
  rootDirectory,
  shellArgument,
  stops,
  textFilter,
  unspokenBacktick,
  wordCommand,
  workingDirectory,
} from "./shell-grammar.ts";
import { SHELL_HIDDEN } from "./shell-hidden.ts";
import { SHELL_WINDOWS } from "./shell-windows.ts";

export const SHELL: readonly Pattern[] = [
  ...callPatterns("shell.call", ["system", "exec", "popen", "passthru", "shell_exec"], ["os"]),
  pattern("shell.separator", [";", "&&", "||", "&"], {
    followedBy: COMMAND_EDGE,
    before: (input, at) => (entityEnd(input, at) ? NO_MATCH : at),
    after: seq(run(WHITESPACE, 0, 12), notProse, commandLine),
  }),
  pattern("shell.pipe", ["|"], {
    followedBy: COMMAND_EDGE,
    before: notTable,
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
          choice(stops, rws, peek(oneOf("$<"))),
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
    guard: attachedBacktick,
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
    guard: unspokenBacktick,
    after: seq(plainCommand, choice(lit("`"), seq(rws, except("`\n", 1, 60), lit("`"))), end),
  }),
  pattern("shell.secret-file", [
    "/etc/passwd",
    "/etc/shadow",
    "/etc/group",
    "/etc/gshadow",
    "/etc/sudoers",
    "/etc/master.passwd",
    "/proc/self/environ",
    "/proc/self/cmdline",
    "/proc/version",
    "/root/.ssh",
    "/.ssh/id_rsa",
    "/.bash_history",
    "\\boot.ini",
    "\\win.ini",
    "/win.ini",
    "system32\\config\\sam",
    "%systemroot%",
    "%systemdrive%",
    "/dev/tcp/",
    "/dev/udp/",
  ]),
  pattern("shell.binary", ["/bin/", "/sbin/"], {
    precededBy: PATH_START,
    after: seq(
      keyword(
        splitWords(`
  sh bash dash zsh ksh csh tcsh cat ls nc netcat ncat id uname chmod rm wget curl ping echo cp mv ps kill
  unxz sed awk grep busybox base64 whoami telnet less more tail head nice dd mount su tar perl php ruby
  python
`),
      ),
      not(lit("/")),
      choice(seq(rws, choice(shellArgument, quote)), seq(stops, not(choice(lit("\n"), lit("'"), lit('"'))))),
    ),
  }),
  pattern(
    "shell.file-command",
    FILE_COMMANDS.map((name) => `${name} `),
    {
      precededBy: COMMAND_START,
      guard: notSpokenOf,
      after: seq(
        times(0, 3, seq(option, rws)),
        opt(seq(run(DIGIT, 3, 4), rws)),
        opt(quote),
        not(workingDirectory),
        choice(
          seq(lit("/"), rootDirectory),
          lit("../../"),
          seq(lit("/"), run(WORD, 1, 20), oneOf("/."), run(WORD, 1, 20)),
        ),
      ),
    },
  ),
  pattern("shell.directory-change", ["cd "], {
    precededBy: COMMAND_START,
    after: choice(
      seq(not(workingDirectory), lit("/"), choice(rootDirectory, oneOf(";&"), end)),
      seq(not(workingDirectory), lit(".."), choice(oneOf("/;&|"), seq(ows, oneOf(";&|")), end)),
      seq(not(workingDirectory), lit("~/")),
      seq(lit("-"), choice(end, oneOf(";&"))),
      seq(except(" \n;&|", 1, 60), ows, choice(lit("&&"), seq(lit(";"), ows, anyCommand))),
    ),
  }),
  pattern("shell.permission-change", ["chmod ", "chown ", "chgrp ", "setfacl ", "umask "], {
    precededBy: COMMAND_START,
    after: seq(
      times(0, 3, seq(option, rws)),
      choice(
        seq(run(DIGIT, 3, 4), choice(rws, end)),
        seq(times(0, 4, oneOf("ugoa")), oneOf("+=-"), times(1, 5, oneOf("rwxst")), rws),
        seq(
          run(WORD, 2, 24),
          choice(lit(":"), rws),
          choice(seq(run(WORD, 2, 24), rws, choice(path, fileName)), path, fileName),
        ),
      ),
    ),
  }),
  pattern("shell.kill", ["kill -9", "killall -9", "pkill -9"], { precededBy: COMMAND_START, after: rws }),
  pattern("shell.search", ["find / ", "grep -r / "], { precededBy: COMMAND_START, after: option }),
  pattern("shell.remove", ["rm ", "rmdir ", "shred ", "mkfs", "dd "], {
    precededBy: COMMAND_START,
    after: choice(
      seq(lit("-"), times(1, 5, oneOf("rfivRI-")), wordBoundary, choice(seq(rws, not(quote)), end)),
      seq(lit("if="), except(" \n", 1, 40)),
      seq(lit("."), lit("ext")),
    ),
  }),
  pattern("shell.write-file", [">"], {
    before: writeBefore,
    after: seq(opt(lit(">")), ows, seq(lit("/"), rootDirectory)),
  }),
  pattern("shell.echo-file", ["echo ", "printf "], {
    precededBy: COMMAND_START,
    after: seq(
      skipTo(
        seq(
          choice(lit(" >"), lit('">'), lit("'>")),
          opt(lit(">")),
          ows,
          choice(path, fileName, seq(run(WORD, 1, 24), choice(end, oneOf(";&|")))),
        ),
        80,
        "\n",
      ),
    ),
  }),
  pattern(
    "shell.run-string",
    [
      "sh ",
      "bash ",
      "zsh ",
      "ksh ",
      "dash ",
      "csh ",
      "cmd ",
      "cmd.exe ",
      "$shell ",
      "python ",
      "python3 ",
      "perl ",
      "ruby ",
      "php ",
      "node ",
    ],
    {
      after: choice(
        seq(
          choice(seq(lit("-"), times(0, 3, oneOf("ilx")), oneOf("cer")), lit("/c"), lit("/k")),
          rws,
          choice(quote, anyCommand, seq(lit("$"), choice(lit("("), quote))),
        ),
      ),
    },
  ),
  pattern("shell.download", ["wget ", "curl ", "fetch ", "lwp-download ", "tftp ", "ftp ", "scp "], {
    precededBy: COMMAND_START,
    after: seq(
      skipTo(address, 60, "\n"),
      opt(except(" \n.", 0, 80)),
      skipTo(
        choice(
          seq(
            lit("."),
            choice(lit("sh"), lit("py"), lit("pl"), lit("exe"), lit("elf"), lit("ps1"), lit("php")),
            wordBoundary,
          ),
          seq(
            lit("|"),
            ows,
            choice(lit("sh"), lit("bash"), lit("sudo"), lit("python"), lit("perl")),
            wordBoundary,
          ),
          seq(lit("-o"), ows, opt(quote), choice(path, fileName)),
          seq(choice(lit(";"), lit("&&")), ows, choice(anyCommand, lit("./"))),
        ),
        40,
        "\n",
      ),
    ),
  }),
  pattern("shell.reverse-shell", ["nc ", "ncat ", "netcat ", "socat ", "telnet "], {
    precededBy: COMMAND_START,
    after: choice(
      seq(
        skipTo(
          seq(
            lit("-"),
            opt(run(LETTER, 0, 4)),
            oneOf("ec"),
            rws,
            choice(lit("/"), lit("sh"), lit("bash"), lit("cmd")),
          ),
          60,
          "\n",
        ),
      ),
      seq(lit("-"), run(LETTER, 1, 5), rws, digits),
      seq(lit("exec:")),
    ),
  }),
  pattern("shell.reverse-shell", ["bash -i", "sh -i"], {
    before: atWordStart,
    after: seq(ows, oneOf(">&<")),
  }),
  pattern(
    "shell.prefix",
    PREFIX_COMMANDS.map((name) => `${name} `),
    {
      precededBy: COMMAND_START,
      after: seq(
        times(0, 3, seq(lit("-"), run(LETTER, 1, 10), rws, opt(seq(choice(digits, lit("/")), rws)))),
        choice(
          seq(
            keyword(
              splitWords(`
  ifconfig whoami who id uname wget curl sh bash cat netstat nc chmod chown rm su
`),
            ),
            choice(stops, seq(rws, choice(shellArgument, seq(run(WORD, 1, 24), oneOf("./:")), oneOf("-/")))),
          ),
        ),
      ),
    },
  ),
  pattern(
    "shell.command-first",
    splitWords(`
    whoami ifconfig uname netstat ipconfig systeminfo
  `),
    {
      precededBy: COMMAND_START,
      after: seq(opt(seq(rws, option)), choice(lit(";"), lit("|"), lit("&&"))),
    },
  ),
  pattern("shell.command-last", [";", "|"], {
    followedBy: charSet(LETTER),
    after: seq(wordCommand, (input, at) => (at >= input.length ? at : NO_MATCH)),
  }),
  pattern("shell.tool", ["crontab ", "iptables ", "useradd ", "usermod ", "ansible-playbook ", "visudo "], {
    precededBy: COMMAND_START,
    after: choice(option, fileName),
  }),
  pattern("shell.to-shell", ["| sh", "|sh", "| bash", "|bash", "| zsh"], {
    before: notTable,
    after: choice(end, seq(wordBoundary, choice(oneOf(")`;&\"'|"), rws))),
  }),
  ...SHELL_HIDDEN,
  ...SHELL_WINDOWS,
];

/** `&#59;`, `&amp;`: the separator belongs to an entity. */
function entityEnd(input: NormalizedText, at: number): boolean {
  if (unitAt(input, at) !== 0x3b) return false;
  let index = at - 1;
  while (at - index < 8 && isInClass(unitAt(input, index), WORD)) index--;
  return (
    unitAt(input, index) === 0x26 || (unitAt(input, index) === 0x23 && unitAt(input, index - 1) === 0x26)
  );
}

/** A redirection, not an arrow, a comparison, a tag or a quotation. */
function writeBefore(input: NormalizedText, at: number): number {
  const before = unitAt(input, at - 1);
  return before === 0x2d ||
    before === 0x3d ||
    before === 0x3c ||
    before === NEWLINE ||
    before === 0 ||
    before === 0x3e ||
    before === 0x22 ||
    before === 0x27 ||
    before === 0x2f
    ? NO_MATCH
    : at;
}
