// Shell patterns for files: reading secret files, file commands, directories, permissions, removing and writing files.
import { isInClass, LETTER, WORD } from "../char-classes.ts";
import { LESS, SLASH } from "../char-codes.ts";
import { charSet, charSetHas } from "../char-set.ts";
import { choice, except, keyword, lit, not, oneOf, opt, run, seq, times } from "../combinators.ts";
import { splitWords } from "../keyword-set.ts";
import { wordBefore, type LookBehind } from "../look-behind.ts";
import { NO_MATCH, type Matcher } from "../matcher.ts";
import { unitAt } from "../normalized-text.ts";
import { pattern, type Pattern } from "../pattern.ts";
import { end, ows, quote, rws } from "../tokens.ts";
import { FILE_COMMANDS } from "./shell-commands.ts";
import {
  afterCommand,
  BEFORE_COMMAND,
  notInSentence,
  notQuotedExample,
  pathAsArgument,
} from "./shell-context.ts";
import {
  drive,
  fileName,
  mode,
  option,
  options,
  path,
  rootDirectory,
  searchLine,
  workingDirectory,
} from "./shell-grammar.ts";

const SECRET_FILES = splitWords(`
  /etc/passwd /etc/shadow /etc/group /etc/gshadow /etc/sudoers /etc/master.passwd
  /proc/self/environ /proc/self/cmdline /proc/version /root/.ssh
`);
/** Units before a `>` that is not a redirection but part of an arrow, a comparison, a tag or a quotation. */
const BEFORE_OTHER_GREATER = charSet(0, "-=<>\n\0\"'/");
const isRedirection: LookBehind = (input, at) => {
  const before = unitAt(input, at - 1);
  if (charSetHas(BEFORE_OTHER_GREATER, before)) return NO_MATCH;
  if (!isInClass(before, WORD)) return at;
  // `<code>/etc/hosts</code>`
  const beforeWord = unitAt(input, at - 1 - wordBefore(input, at).length);
  return beforeWord === LESS || beforeWord === SLASH ? NO_MATCH : at;
};
const BEFORE_REDIRECTION = charSet(0, " \"'");
const outputFile = seq(
  lit(">"),
  opt(lit(">")),
  ows,
  choice(path, fileName, seq(run(WORD, 1, 24), choice(end, oneOf(";&|")))),
);
const redirectedOutput: Matcher = (input, at) =>
  charSetHas(BEFORE_REDIRECTION, unitAt(input, at - 1)) ? outputFile(input, at) : NO_MATCH;
/** A path outside the working directory, also with wildcards instead of some letters. */
const absolutePath = choice(
  seq(lit("/"), rootDirectory),
  seq(lit("/"), run(WORD, 1, 20), oneOf("/."), run(WORD, 1, 20)),
  seq(lit("/"), run(WORD, 0, 10), oneOf("?*[")),
  seq(lit("/"), rws, option),
  lit("../../"),
  seq(lit("~/."), keyword(splitWords(`ssh aws bash_history`))),
);

const userName = seq(run(WORD, 2, 24), opt(seq(lit("-"), run(WORD, 1, 24))));

export const SHELL_FILES: readonly Pattern[] = [
  pattern("shell.secret-file", SECRET_FILES, {
    catches: "the path of a file with secrets, as an argument or a value",
    from: "balanced",
    finds: [
      ...SECRET_FILES.map((file) => `page=..${file}`),
      "open('/etc/passwd')",
      "/etc/shadow",
      "x -T /etc/passwd",
      "curl /etc/passwd",
      "grep root /etc/passwd",
      "$u/etc/passwd",
    ],
    ignores: [
      "Print the user names in /etc/passwd.",
      "The file `/etc/group` lists groups.",
      "fixtures/etc/passwd",
      "Use grep on /etc/passwd.",
    ],
    before: pathAsArgument,
  }),
  pattern(
    "shell.file-command",
    FILE_COMMANDS.map((name) => `${name} `),
    {
      catches: "a command that reads or changes a file outside the working directory",
      from: "balanced",
      finds: [
        ...FILE_COMMANDS.map((name) => `${name} /etc/hosts`),
        "cat -n /var/log/syslog",
        "tail -n 20 /var/log/syslog",
        "find / -name x",
        "cat '/opt/app/key.pem'",
        "chmod 755 /srv/x",
        "cat ../../x",
        "ls /data/keys",
        "cat /e??/hosts",
        "ls /etc",
        "cat ~/.ssh/id_rsa",
        "cat ~/.aws/credentials",
        "cat ~/.bash_history",
      ],
      ignores: [
        "The defaults are in the source /usr/share/doc/x.",
        "concat /etc/fstab",
        "cat /tmp/build\nmake",
        "cat /opt/build\nmake",
        "cat /srv/build\nmake",
        "cat /var/build\nmake",
        "cat notes.txt",
        "cat /b",
      ],
      precededBy: BEFORE_COMMAND,
      guard: notInSentence,
      after: seq(options, opt(quote), not(workingDirectory), absolutePath),
    },
  ),
  pattern("shell.encoded-space", ["+/", "+-"], {
    catches: "a command whose spaces are written as `+`",
    from: "balanced",
    finds: ["cat+/et*/*wd", "ls+-la", "cat+/*"],
    ignores: ["a+/b/c", "date+/-1 day", "category+/x"],
    before: afterCommand,
    after: choice(run(LETTER, 1, 40), oneOf("*?[")),
  }),
  pattern("shell.directory-change", ["cd "], {
    catches: "a change to a directory outside the working directory, or before another command",
    from: "balanced",
    finds: [
      "cd /etc",
      "cd /",
      "cd ../..",
      "cd ..;",
      "cd .. && x",
      "cd ..",
      "cd ~/x",
      "cd -",
      "cd -;x",
      "cd /;x",
      "cd c:\\",
    ],
    ignores: [
      "a cd player",
      "abcd /etc",
      "$ cd /home/me/project\n$ make",
      "$ cd ~/project\n$ make",
      "$ cd c:\\work\n$ make",
      "$ cd ../project\n$ make",
      'What does "cd /home/me" do?',
      "git clone x && cd x && make",
    ],
    precededBy: BEFORE_COMMAND,
    before: notQuotedExample,
    after: seq(
      not(workingDirectory),
      choice(
        seq(lit("/"), choice(rootDirectory, oneOf(";&"), end)),
        seq(lit(".."), choice(oneOf("/;&|"), seq(ows, oneOf(";&|")), end)),
        lit("~/"),
        drive,
        seq(lit("-"), choice(end, oneOf(";&"))),
      ),
    ),
  }),
  pattern("shell.permission-change", ["chmod ", "chown ", "chgrp ", "setfacl ", "umask "], {
    catches: "a change of permissions or of the owner",
    from: "balanced",
    finds: [
      "chmod 777 x",
      "chmod --verbose 755 x",
      "chmod u+x run",
      "chown root:root run.sh",
      "chown -R www:www ./site",
      "chown www-data:www-data /srv",
      "chgrp staff notes.txt",
      "setfacl bob ./x",
      "umask 000",
    ],
    ignores: [
      "What does chmod do?",
      "chmod and chown differ",
      "xchmod 777 x",
      "Is `chmod 600 notes` enough?",
    ],
    precededBy: BEFORE_COMMAND,
    before: notQuotedExample,
    after: seq(
      times(0, 3, seq(option, rws)),
      choice(
        mode,
        seq(
          userName,
          choice(lit(":"), rws),
          choice(seq(userName, rws, choice(fileName, path)), path, fileName),
        ),
      ),
    ),
  }),
  pattern("shell.remove", ["rm ", "shred ", "dd "], {
    catches: "a command that removes files or overwrites a disk",
    from: "balanced",
    finds: ["rm -rf /", "rm -rf *", "shred -f ~/x", "dd if=a of=b"],
    ignores: ["rm -rf dist && tsc", "farm -rf /", "rm notes"],
    precededBy: BEFORE_COMMAND,
    after: choice(
      seq(lit("-"), run(LETTER, 1, 8), rws, oneOf("/~*.$")),
      seq(lit("if="), except(" \n", 1, 40)),
    ),
  }),
  pattern("shell.write-file", [">"], {
    catches: "a redirection to a file of the system",
    from: "balanced",
    finds: ["x > /etc/hosts", "x >> /tmp/log", "x >/dev/sda"],
    ignores: [
      "<code>/etc/hosts</code>",
      "</b>/etc/hosts",
      "x -> /etc",
      "a => /var",
      "x > /slash",
      "make 2> /dev/null",
    ],
    before: isRedirection,
    after: seq(opt(lit(">")), ows, not(lit("/dev/null")), lit("/"), rootDirectory),
  }),
  pattern("shell.echo-file", ["echo ", "printf "], {
    catches: "text that is written to a file",
    from: "balanced",
    finds: [
      "echo hello > /data/x",
      'echo "a"> x.php',
      "printf 'a'>> x.sh",
      "echo a > out",
      "echo a > out; b",
    ],
    ignores: ["an echo in the valley", "necho a > out", "echo a > b is greater", "print x > y.txt"],
    precededBy: BEFORE_COMMAND,
    after: searchLine(">", redirectedOutput, 80),
  }),
];
