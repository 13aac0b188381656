// Shell patterns for command lines: secret files, file commands, changes of directory and permissions, downloads, reverse shells.
import { DIGIT, LETTER, WORD } from "../char-classes.ts";
import { charSet, charSetHas } from "../char-set.ts";
import { choice, except, keyword, lit, not, oneOf, opt, run, seq, skipTo, times } from "../combinators.ts";
import { splitWords } from "../keyword-set.ts";
import { atWordStart, type LookBehind } from "../look-behind.ts";
import { NO_MATCH } from "../matcher.ts";
import { unitAt } from "../normalized-text.ts";
import { pattern, type Pattern } from "../pattern.ts";
import { digits, end, ows, quote, rws, wordBoundary } from "../tokens.ts";
import { FILE_COMMANDS, PREFIX_COMMANDS } from "./shell-commands.ts";
import {
  address,
  anyCommand,
  BEFORE_COMMAND,
  BEFORE_PATH,
  commandEnd,
  fileName,
  notInSentence,
  notInTable,
  option,
  path,
  rootDirectory,
  shellArgument,
  wordCommand,
  workingDirectory,
} from "./shell-grammar.ts";

/** Units before a `>` that is not a redirection but part of an arrow, a comparison, a tag or a quotation. */
const BEFORE_OTHER_GREATER = charSet(0, "-=<>\n\0\"'/");
const isRedirection: LookBehind = (input, at) =>
  charSetHas(BEFORE_OTHER_GREATER, unitAt(input, at - 1)) ? NO_MATCH : at;

export const SHELL_COMMAND_PATTERNS: readonly Pattern[] = [
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
    precededBy: BEFORE_PATH,
    after: seq(
      keyword(
        splitWords(`
  sh bash dash zsh ksh csh tcsh cat ls nc netcat ncat id uname chmod rm wget curl ping echo cp mv ps kill
  unxz sed awk grep busybox base64 whoami telnet less more tail head nice dd mount su tar perl php ruby
  python
`),
      ),
      not(lit("/")),
      choice(
        seq(rws, choice(shellArgument, quote)),
        seq(commandEnd, not(choice(lit("\n"), lit("'"), lit('"')))),
      ),
    ),
  }),
  pattern(
    "shell.file-command",
    FILE_COMMANDS.map((name) => `${name} `),
    {
      precededBy: BEFORE_COMMAND,
      guard: notInSentence,
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
    precededBy: BEFORE_COMMAND,
    after: choice(
      seq(not(workingDirectory), lit("/"), choice(rootDirectory, oneOf(";&"), end)),
      seq(not(workingDirectory), lit(".."), choice(oneOf("/;&|"), seq(ows, oneOf(";&|")), end)),
      seq(not(workingDirectory), lit("~/")),
      seq(lit("-"), choice(end, oneOf(";&"))),
      seq(except(" \n;&|", 1, 60), ows, choice(lit("&&"), seq(lit(";"), ows, anyCommand))),
    ),
  }),
  pattern("shell.permission-change", ["chmod ", "chown ", "chgrp ", "setfacl ", "umask "], {
    precededBy: BEFORE_COMMAND,
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
  pattern("shell.kill", ["kill -9", "killall -9", "pkill -9"], { precededBy: BEFORE_COMMAND, after: rws }),
  pattern("shell.search", ["find / ", "grep -r / "], { precededBy: BEFORE_COMMAND, after: option }),
  pattern("shell.remove", ["rm ", "rmdir ", "shred ", "mkfs", "dd "], {
    precededBy: BEFORE_COMMAND,
    after: choice(
      seq(lit("-"), times(1, 5, oneOf("rfivRI-")), wordBoundary, choice(seq(rws, not(quote)), end)),
      seq(lit("if="), except(" \n", 1, 40)),
      seq(lit("."), lit("ext")),
    ),
  }),
  pattern("shell.write-file", [">"], {
    before: isRedirection,
    after: seq(opt(lit(">")), ows, seq(lit("/"), rootDirectory)),
  }),
  pattern("shell.echo-file", ["echo ", "printf "], {
    precededBy: BEFORE_COMMAND,
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
    precededBy: BEFORE_COMMAND,
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
    precededBy: BEFORE_COMMAND,
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
      precededBy: BEFORE_COMMAND,
      after: seq(
        times(0, 3, seq(lit("-"), run(LETTER, 1, 10), rws, opt(seq(choice(digits, lit("/")), rws)))),
        choice(
          seq(
            keyword(
              splitWords(`
  ifconfig whoami who id uname wget curl sh bash cat netstat nc chmod chown rm su
`),
            ),
            choice(
              commandEnd,
              seq(rws, choice(shellArgument, seq(run(WORD, 1, 24), oneOf("./:")), oneOf("-/"))),
            ),
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
      precededBy: BEFORE_COMMAND,
      after: seq(opt(seq(rws, option)), choice(lit(";"), lit("|"), lit("&&"))),
    },
  ),
  pattern("shell.command-last", [";", "|"], {
    followedBy: charSet(LETTER),
    after: seq(wordCommand, (input, at) => (at >= input.length ? at : NO_MATCH)),
  }),
  pattern("shell.tool", ["crontab ", "iptables ", "useradd ", "usermod ", "ansible-playbook ", "visudo "], {
    precededBy: BEFORE_COMMAND,
    after: choice(option, fileName),
  }),
  pattern("shell.to-shell", ["| sh", "|sh", "| bash", "|bash", "| zsh"], {
    before: notInTable,
    after: choice(end, seq(wordBoundary, choice(oneOf(")`;&\"'|"), rws))),
  }),
];
