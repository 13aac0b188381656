// Shell: commands behind a separator or with a path, substitution, redirection, changes of directory and permission.
import { BLANK, DIGIT, isOf, LETTER, NEWLINE, WORD } from "../char-classes.ts";
import { edge, edgeWithout } from "../edge.ts";
import {
  any,
  atWordStart,
  blanks,
  digits,
  end,
  except,
  gap,
  lit,
  NO_MATCH,
  not,
  oneOf,
  opt,
  peek,
  quote,
  run,
  seq,
  times,
  upTo,
  word,
  wordEnd,
  words,
} from "../grammar.ts";
import { pattern, type Pattern } from "../pattern.ts";
import { type View, unitAt } from "../view.ts";
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
    next: COMMAND_EDGE,
    before: (view, at) => (entityEnd(view, at) ? NO_MATCH : at),
    after: seq(run(BLANK, 0, 12), notProse, commandLine),
  }),
  pattern("shell.pipe", ["|"], {
    next: COMMAND_EDGE,
    before: notTable,
    after: seq(blanks, not(textFilter), notProse, commandLine),
  }),
  pattern("shell.newline-command", ["\n"], {
    next: edge(0, "clrwnCLRWN"),
    after: seq(
      any(
        seq(
          word(
            words(`
    cat ls rm wget curl chmod nc
  `),
          ),
          gap,
          seq(opt(seq(option, gap)), any(seq(lit("/"), rootDirectory), lit("/ "))),
        ),
      ),
    ),
  }),
  pattern("shell.substitution", ["$("], {
    after: seq(
      blanks,
      any(
        seq(
          commandOf(new Set([...PLAIN_COMMANDS].filter((name) => name !== "ss"))),
          any(stops, gap, peek(oneOf("$<"))),
        ),
        seq(wordCommand, any(seq(gap, any(path, fileName, redirection, option)), peek(oneOf(")<$|")))),
        binaryPath,
        seq(lit("<"), path),
        seq(lit("($()")),
      ),
    ),
  }),
  pattern("shell.process-substitution", ["<(", ">("], {
    prev: edgeWithout(WORD, ">"),
    after: seq(blanks, any(plainCommand, word(["cat", "echo", "head", "tail", "sort"])), gap),
  }),
  pattern("shell.backtick", ["`"], {
    guard: attachedBacktick,
    after: seq(
      blanks,
      any(
        seq(plainCommand, any(peek(seq(blanks, lit("`"))), gap, peek(oneOf("$<")))),
        seq(wordCommand, any(peek(lit("`")), seq(gap, any(path, fileName, redirection)), peek(oneOf("$<")))),
        binaryPath,
      ),
      upTo(lit("`"), 80, "\n"),
    ),
  }),
  pattern("shell.backtick", ["`"], {
    after: seq(
      blanks,
      any(binaryPath, seq(anyCommand, any(seq(gap, path), lit("<<<"), seq(lit("$"), oneOf("{i"))))),
      upTo(lit("`"), 80, "\n"),
    ),
  }),
  pattern("shell.backtick", ["`"], {
    guard: unspokenBacktick,
    after: seq(plainCommand, any(lit("`"), seq(gap, except("`\n", 1, 60), lit("`"))), end),
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
    prev: PATH_START,
    after: seq(
      word(
        words(`
  sh bash dash zsh ksh csh tcsh cat ls nc netcat ncat id uname chmod rm wget curl ping echo cp mv ps kill
  unxz sed awk grep busybox base64 whoami telnet less more tail head nice dd mount su tar perl php ruby
  python
`),
      ),
      not(lit("/")),
      any(seq(gap, any(shellArgument, quote)), seq(stops, not(any(lit("\n"), lit("'"), lit('"'))))),
    ),
  }),
  pattern(
    "shell.file-command",
    FILE_COMMANDS.map((name) => `${name} `),
    {
      prev: COMMAND_START,
      guard: notSpokenOf,
      after: seq(
        times(0, 3, seq(option, gap)),
        opt(seq(run(DIGIT, 3, 4), gap)),
        opt(quote),
        not(workingDirectory),
        any(
          seq(lit("/"), rootDirectory),
          lit("../../"),
          seq(lit("/"), run(WORD, 1, 20), oneOf("/."), run(WORD, 1, 20)),
        ),
      ),
    },
  ),
  pattern("shell.directory-change", ["cd "], {
    prev: COMMAND_START,
    after: any(
      seq(not(workingDirectory), lit("/"), any(rootDirectory, oneOf(";&"), end)),
      seq(not(workingDirectory), lit(".."), any(oneOf("/;&|"), seq(blanks, oneOf(";&|")), end)),
      seq(not(workingDirectory), lit("~/")),
      seq(lit("-"), any(end, oneOf(";&"))),
      seq(except(" \n;&|", 1, 60), blanks, any(lit("&&"), seq(lit(";"), blanks, anyCommand))),
    ),
  }),
  pattern("shell.permission-change", ["chmod ", "chown ", "chgrp ", "setfacl ", "umask "], {
    prev: COMMAND_START,
    after: seq(
      times(0, 3, seq(option, gap)),
      any(
        seq(run(DIGIT, 3, 4), any(gap, end)),
        seq(times(0, 4, oneOf("ugoa")), oneOf("+=-"), times(1, 5, oneOf("rwxst")), gap),
        seq(
          run(WORD, 2, 24),
          any(lit(":"), gap),
          any(seq(run(WORD, 2, 24), gap, any(path, fileName)), path, fileName),
        ),
      ),
    ),
  }),
  pattern("shell.kill", ["kill -9", "killall -9", "pkill -9"], { prev: COMMAND_START, after: gap }),
  pattern("shell.search", ["find / ", "grep -r / "], { prev: COMMAND_START, after: option }),
  pattern("shell.remove", ["rm ", "rmdir ", "shred ", "mkfs", "dd "], {
    prev: COMMAND_START,
    after: any(
      seq(lit("-"), times(1, 5, oneOf("rfivRI-")), wordEnd, any(seq(gap, not(quote)), end)),
      seq(lit("if="), except(" \n", 1, 40)),
      seq(lit("."), lit("ext")),
    ),
  }),
  pattern("shell.write-file", [">"], {
    before: writeBefore,
    after: seq(opt(lit(">")), blanks, seq(lit("/"), rootDirectory)),
  }),
  pattern("shell.echo-file", ["echo ", "printf "], {
    prev: COMMAND_START,
    after: seq(
      upTo(
        seq(
          any(lit(" >"), lit('">'), lit("'>")),
          opt(lit(">")),
          blanks,
          any(path, fileName, seq(run(WORD, 1, 24), any(end, oneOf(";&|")))),
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
      after: any(
        seq(
          any(seq(lit("-"), times(0, 3, oneOf("ilx")), oneOf("cer")), lit("/c"), lit("/k")),
          gap,
          any(quote, anyCommand, seq(lit("$"), any(lit("("), quote))),
        ),
      ),
    },
  ),
  pattern("shell.download", ["wget ", "curl ", "fetch ", "lwp-download ", "tftp ", "ftp ", "scp "], {
    prev: COMMAND_START,
    after: seq(
      upTo(address, 60, "\n"),
      opt(except(" \n.", 0, 80)),
      upTo(
        any(
          seq(
            lit("."),
            any(lit("sh"), lit("py"), lit("pl"), lit("exe"), lit("elf"), lit("ps1"), lit("php")),
            wordEnd,
          ),
          seq(
            lit("|"),
            blanks,
            any(lit("sh"), lit("bash"), lit("sudo"), lit("python"), lit("perl")),
            wordEnd,
          ),
          seq(lit("-o"), blanks, opt(quote), any(path, fileName)),
          seq(any(lit(";"), lit("&&")), blanks, any(anyCommand, lit("./"))),
        ),
        40,
        "\n",
      ),
    ),
  }),
  pattern("shell.reverse-shell", ["nc ", "ncat ", "netcat ", "socat ", "telnet "], {
    prev: COMMAND_START,
    after: any(
      seq(
        upTo(
          seq(
            lit("-"),
            opt(run(LETTER, 0, 4)),
            oneOf("ec"),
            gap,
            any(lit("/"), lit("sh"), lit("bash"), lit("cmd")),
          ),
          60,
          "\n",
        ),
      ),
      seq(lit("-"), run(LETTER, 1, 5), gap, digits),
      seq(lit("exec:")),
    ),
  }),
  pattern("shell.reverse-shell", ["bash -i", "sh -i"], {
    before: atWordStart,
    after: seq(blanks, oneOf(">&<")),
  }),
  pattern(
    "shell.prefix",
    PREFIX_COMMANDS.map((name) => `${name} `),
    {
      prev: COMMAND_START,
      after: seq(
        times(0, 3, seq(lit("-"), run(LETTER, 1, 10), gap, opt(seq(any(digits, lit("/")), gap)))),
        any(
          seq(
            word(
              words(`
  ifconfig whoami who id uname wget curl sh bash cat netstat nc chmod chown rm su
`),
            ),
            any(stops, seq(gap, any(shellArgument, seq(run(WORD, 1, 24), oneOf("./:")), oneOf("-/")))),
          ),
        ),
      ),
    },
  ),
  pattern(
    "shell.command-first",
    words(`
    whoami ifconfig uname netstat ipconfig systeminfo
  `),
    {
      prev: COMMAND_START,
      after: seq(opt(seq(gap, option)), any(lit(";"), lit("|"), lit("&&"))),
    },
  ),
  pattern("shell.command-last", [";", "|"], {
    next: edge(LETTER),
    after: seq(wordCommand, (view, at) => (at >= view.length ? at : NO_MATCH)),
  }),
  pattern("shell.tool", ["crontab ", "iptables ", "useradd ", "usermod ", "ansible-playbook ", "visudo "], {
    prev: COMMAND_START,
    after: any(option, fileName),
  }),
  pattern("shell.to-shell", ["| sh", "|sh", "| bash", "|bash", "| zsh"], {
    before: notTable,
    after: any(end, seq(wordEnd, any(oneOf(")`;&\"'|"), gap))),
  }),
  ...SHELL_HIDDEN,
  ...SHELL_WINDOWS,
];

/** `&#59;`, `&amp;`: the separator belongs to an entity. */
function entityEnd(view: View, at: number): boolean {
  if (unitAt(view, at) !== 0x3b) return false;
  let index = at - 1;
  while (at - index < 8 && isOf(unitAt(view, index), WORD)) index--;
  return unitAt(view, index) === 0x26 || (unitAt(view, index) === 0x23 && unitAt(view, index - 1) === 0x26);
}

/** A redirection, not an arrow, a comparison, a tag or a quotation. */
function writeBefore(view: View, at: number): number {
  const before = unitAt(view, at - 1);
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
