// Shell patterns for Windows: batch files, PowerShell, drives, and preinstalled tools that attackers use.
import { WORD } from "../char-classes.ts";
import { EQUALS, OPEN_PAREN } from "../char-codes.ts";
import {
  choice,
  except,
  keyword,
  lit,
  not,
  oneOf,
  opt,
  run,
  seq,
  skipTo,
  times,
  where,
} from "../combinators.ts";
import { endOfWord, KeywordSet, splitWords } from "../keyword-set.ts";
import { atWordStart } from "../look-behind.ts";
import { searching, type Matcher } from "../matcher.ts";
import { unitAt, type NormalizedText } from "../normalized-text.ts";
import { pattern, type Pattern } from "../pattern.ts";
import { hasPrefix, prefixesOf } from "../prefix-set.ts";
import { BATCH_CONDITION } from "../search-after.ts";
import { digits, end, identifier, ows, quote, quoted, rws } from "../tokens.ts";
import { BEFORE_COMMAND, notInSentence } from "./shell-context.ts";
import { address, drive } from "./shell-grammar.ts";

const BATCH_COMMANDS = splitWords(`
  echo goto call set exit cd cmd del copy start type md rd ren if for powershell
`);
const group: Matcher = seq(oneOf("(["), except(")]\n", 0, 24), oneOf(")]"));
const ifOperand: Matcher = choice(
  quoted(40),
  seq(lit("%"), except("%\n ", 0, 24), lit("%")),
  seq(lit("%"), oneOf("123456789~")),
  group,
  seq(lit("!"), run(WORD, 1, 24), lit("!")),
  run(WORD, 1, 24),
);
const COMPARISON_WORDS = splitWords(`equ neq gtr geq lss leq`);
const batchComparison = seq(ows, choice(lit("=="), keyword(COMPARISON_WORDS)), ows);
const COMPARISON_STARTS = prefixesOf(COMPARISON_WORDS);
const CONDITION_WORDS = new KeywordSet(["not", "exist", "defined", "errorlevel"]);
/** Returns false for most conditions of programs, `if (name …` and `if name …`: no comparison follows. */
function mayCompare(input: NormalizedText, at: number): boolean {
  const isGroup = unitAt(input, at) === OPEN_PAREN;
  const start = isGroup ? at + 1 : at;
  const nameEnd = endOfWord(input, start);
  if (nameEnd === start || CONDITION_WORDS.has(input, start, nameEnd)) return true;
  return isComparison(input, nameEnd) || (isGroup && isComparison(input, group(input, at)));
}
function isComparison(input: NormalizedText, at: number): boolean {
  if (at < 0) return false;
  const start = ows(input, at);
  const first = unitAt(input, start);
  const second = unitAt(input, start + 1);
  // `===` is JavaScript.
  if (first === EQUALS) return second === EQUALS && unitAt(input, start + 2) !== EQUALS;
  return hasPrefix(COMPARISON_STARTS, first, second);
}
const batchBody = seq(
  ows,
  choice(seq(opt(oneOf("(@")), ows, keyword(BATCH_COMMANDS)), seq(lit("("), choice(end, lit("\n")))),
);

const WINDOWS_FILES = splitWords(`\\boot.ini \\win.ini /boot.ini /win.ini system32\\config\\sam`);
const DRIVE_COMMANDS = splitWords(`dir del type copy move attrib erase rd md`);
const POWERSHELL_COMMANDS = splitWords(`
  invoke-webrequest invoke-expression invoke-command invoke-wmimethod invoke-restmethod start-process
  downloadstring downloadfile frombase64string start-bitstransfer
`);
const POWERSHELL_OPTIONS = splitWords(`
  c command e enc encodedcommand ec ep exec executionpolicy nop noprofile w windowstyle inputformat nologo
`);
const WINDOWS_TOOLS = splitWords(`certutil bitsadmin mshta regsvr32 rundll32 wmic bcdboot cscript wscript`);

export const SHELL_WINDOWS: readonly Pattern[] = [
  pattern("shell.batch-for", ["for "], {
    catches: "a loop of a batch file",
    from: "balanced",
    finds: [
      "for %i in (*) do echo %i",
      "for %%i in (*) do x",
      "for /d %a in (x) do y",
      'for /f "tokens=1" %a in (x) do y',
      "for /r c:\\tmp %g in (*.bak) do x",
      "for %~ in (a) do x",
      "for %- in (a) do x",
    ],
    ignores: [
      "for 5% in (x) do y",
      "Look for 20 % in (b) do you see it?",
      "Ask for a 5 % rise",
      "waitfor %i in (*) do x",
    ],
    before: atWordStart,
    after: seq(
      times(0, 2, seq(lit("/"), oneOf("dflr"), rws)),
      opt(seq(choice(quoted(40), seq(drive, except(" \n", 0, 40))), rws)),
      lit("%"),
      opt(lit("%")),
      opt(lit("~")),
      run(WORD, 0, 24),
      opt(oneOf("-/")),
      rws,
      lit("in"),
      rws,
      lit("("),
      skipTo(lit(")"), 120),
      ows,
      lit("do"),
      rws,
    ),
  }),
  pattern("shell.batch-if", ["if "], {
    catches: "a condition of a batch file",
    from: "balanced",
    finds: [
      "if exist a.txt del a.txt",
      'if exist "c:\\a b.txt" (',
      "if not exist c:\\x (\nx",
      "if 1==%x% echo y",
      "if 1 gtr 2 echo x",
      "if 1 lss 2 echo x",
      "if 1 leq 2 echo x",
      "if defined x echo y",
      "if errorlevel 1 goto x",
      "if not errorlevel 0 (",
      'if "a"=="b" echo x',
      "if %x%==1 @echo x",
      "if %1==x (set y=1",
      "if [%1]==[] echo x",
      "if !x! equ 5 goto y",
      "if 2 geq 15 echo x",
      "if (2 geq 15) echo x",
      "if %x%==anything",
      "if /i %a% neq 3 exit",
    ],
    ignores: [
      "if x == 1 then y",
      "if (a == b) { go(); }",
      "if it is defined by us",
      "if exist is a word",
      "What if errorlevel 3 is returned?",
      "gif exist a del b",
    ],
    before: atWordStart,
    after: searching(
      BATCH_CONDITION,
      where(
        mayCompare,
        seq(
          opt(seq(lit("/i"), rws)),
          opt(seq(lit("not"), rws)),
          choice(
            seq(lit("exist"), rws, choice(quoted(60), except(' \n"', 1, 60)), batchBody),
            seq(lit("defined"), rws, run(WORD, 1, 24), batchBody),
            seq(lit("errorlevel"), rws, digits, batchBody),
            seq(ifOperand, batchComparison, ifOperand, batchBody),
            seq(lit("("), ifOperand, batchComparison, ifOperand, lit(")"), batchBody),
            seq(lit("%"), except("%\n ", 1, 24), lit("%"), batchComparison),
          ),
        ),
      ),
    ),
  }),
  pattern("shell.batch-if", ["if /i "], {
    catches: "a condition of a batch file that ignores case",
    from: "balanced",
    finds: ["if /i a==b x", "if /i not a==b x"],
    ignores: ["if /i am late", "gif /i a==b"],
    before: atWordStart,
    after: seq(opt(seq(lit("not"), rws)), ifOperand, batchComparison, ifOperand),
  }),
  pattern("shell.powershell", POWERSHELL_COMMANDS, {
    catches: "a PowerShell command that downloads or runs something",
    from: "balanced",
    finds: [
      ...POWERSHELL_COMMANDS.map((name) => `${name} -x`),
      'invoke-expression "x"',
      "invoke-expression $x",
      "invoke-webrequest http://192.0.2.1/x",
      "start-process (x)",
      "start-process calc",
      "x.downloadstring('y')",
    ],
    ignores: ["What is invoke-expression?", "xinvoke-expression $x", "downloadfiles(x)"],
    before: atWordStart,
    after: choice(seq(rws, choice(oneOf("-$("), quote, identifier)), lit("(")),
  }),
  pattern("shell.powershell", ["powershell", "powershell.exe", "pwsh"], {
    catches: "PowerShell with a command or a path as its argument",
    from: "balanced",
    finds: [
      ...POWERSHELL_OPTIONS.map((name) => `powershell -${name} x`),
      "powershell.exe /c x",
      "pwsh -c x",
      "powershell c:\\*\\x",
    ],
    ignores: ["powershell is a shell", "powershell -version", "mypwsh -c x"],
    before: atWordStart,
    after: seq(rws, choice(seq(oneOf("-/"), keyword(POWERSHELL_OPTIONS)), drive)),
  }),
  pattern("shell.windows-tool", WINDOWS_TOOLS, {
    catches: "a preinstalled tool that downloads or runs code",
    from: "balanced",
    finds: [
      ...WINDOWS_TOOLS.map((name) => `${name} /x`),
      "certutil.exe -urlcache",
      "mshta http://192.0.2.1/x",
      'mshta "x"',
      "wmic process call create",
      "rundll32 x.dll,y",
      "bcdboot<x",
    ],
    ignores: ["wmic is deprecated", "certutils /x", "xmshta -a", "<b>.lock-wscript</b>"],
    before: atWordStart,
    after: seq(
      opt(lit(".exe")),
      choice(
        seq(rws, choice(oneOf("-/"), address, quote, lit("process"), seq(identifier, lit(".dll")))),
        seq(oneOf("/<>"), not(lit("/"))),
      ),
    ),
  }),
  pattern("shell.windows-file", WINDOWS_FILES, {
    catches: "a file of Windows that attacks read as a proof",
    from: "balanced",
    finds: WINDOWS_FILES.map((file) => `c:${file}`),
    ignores: ["the boot.ini file"],
  }),
  pattern(
    "shell.windows-file",
    DRIVE_COMMANDS.map((name) => `${name} `),
    {
      catches: "a command that lists or changes files on a drive",
      from: "balanced",
      finds: DRIVE_COMMANDS.map((name) => `${name} c:\\`),
      ignores: ["the type C:\\ is unknown", "subdir c:\\x", "dir names"],
      precededBy: BEFORE_COMMAND,
      guard: notInSentence,
      after: drive,
    },
  ),
];
