// The Windows side of the shell: batch files, PowerShell, and the tools that attackers bring nothing along for.
import { isOf, LETTER, WORD } from "../char-classes.ts";
import {
  any,
  atWordStart,
  blanks,
  digits,
  end,
  except,
  gap,
  identifier,
  lit,
  NO_MATCH,
  oneOf,
  opt,
  quote,
  quoted,
  run,
  seq,
  times,
  upTo,
  word,
  wordEnd,
  type Before,
  words,
} from "../grammar.ts";
import { pattern, type Pattern } from "../pattern.ts";
import type { Rule } from "../rule.ts";
import { unitAt } from "../view.ts";
import { address } from "./shell-grammar.ts";

const COLON = 0x3a;

/** `for we`: prose. A letter behind `for` can only be a drive's. */
const noWordBehindFor: Before = (view, at) =>
  isOf(unitAt(view, at + 4), LETTER) && unitAt(view, at + 5) !== COLON ? NO_MATCH : at;

const BATCH_COMMANDS = words(`
  echo goto call set exit cd cmd del copy start type md rd ren if for powershell
`);
const operandOfIf: Rule = any(
  quoted(40),
  seq(lit("%"), except("%\n ", 0, 24), lit("%")),
  seq(lit("%"), oneOf("123456789~")),
  seq(oneOf("(["), except(")]\n", 0, 24), oneOf(")]")),
  seq(lit("!"), run(WORD, 1, 24), lit("!")),
  run(WORD, 1, 24),
);
const batchComparison = seq(
  blanks,
  any(
    lit("=="),
    seq(
      word(
        words(`
    equ neq gtr geq lss leq
  `),
      ),
    ),
  ),
  blanks,
);
const batchBody = seq(blanks, opt(oneOf("(@")), blanks, any(word(BATCH_COMMANDS), lit("(")));

export const SHELL_WINDOWS: readonly Pattern[] = [
  pattern("shell.batch-for", ["for "], {
    before: atWordStart,
    guard: noWordBehindFor,
    after: seq(
      times(0, 2, seq(lit("/"), oneOf("dflr"), gap)),
      opt(
        seq(
          any(
            quoted(40),
            seq(lit('\\"'), upTo(lit('\\"'), 40)),
            seq(run(LETTER, 1, 1), lit(":\\"), except(" \n", 0, 40)),
          ),
          gap,
        ),
      ),
      lit("%"),
      opt(lit("%")),
      opt(lit("~")),
      run(WORD, 0, 24),
      opt(oneOf("-/")),
      gap,
      lit("in"),
      gap,
      lit("("),
      upTo(lit(")"), 120),
      blanks,
      lit("do"),
      gap,
    ),
  }),
  pattern("shell.batch-if", ["if "], {
    before: atWordStart,
    after: seq(
      opt(seq(lit("/i"), gap)),
      opt(seq(lit("not"), gap)),
      any(
        seq(
          lit("exist"),
          gap,
          any(
            seq(
              opt(quote),
              opt(seq(run(LETTER, 1, 1), lit(":"))),
              except(' \n"', 1, 60),
              opt(quote),
              any(batchBody, seq(gap, lit("("), any(end, lit("\n")))),
            ),
          ),
        ),
        seq(lit("defined"), gap, run(WORD, 1, 24), batchBody),
        seq(lit("errorlevel"), gap, digits, gap, any(word(BATCH_COMMANDS), lit("("))),
        seq(operandOfIf, batchComparison, operandOfIf, batchBody),
        seq(lit("("), operandOfIf, batchComparison, operandOfIf, lit(")"), batchBody),
        seq(lit("%"), except("%\n ", 1, 24), lit("%"), batchComparison),
      ),
    ),
  }),
  pattern("shell.batch-if", ["if /i "], {
    before: atWordStart,
    after: seq(opt(seq(lit("not"), gap)), operandOfIf, batchComparison, operandOfIf),
  }),
  pattern(
    "shell.powershell",
    words(`
  invoke-webrequest invoke-expression invoke-command invoke-wmimethod invoke-restmethod start-process
  downloadstring downloadfile -encodedcommand -executionpolicy frombase64string start-bitstransfer
`),
    {
      before: atWordStart,
      after: seq(
        wordEnd,
        any(seq(gap, any(lit("-"), quote, lit("$"), address, lit("("), identifier)), lit("(")),
      ),
    },
  ),
  pattern("shell.powershell", ["powershell", "powershell.exe", "pwsh"], {
    before: atWordStart,
    after: seq(
      gap,
      oneOf("-/"),
      word(
        words(`
  c command e enc encodedcommand ec ep exec executionpolicy nop noprofile w windowstyle inputformat nologo
`),
      ),
    ),
  }),
  pattern(
    "shell.windows-tool",
    words(`
    certutil bitsadmin mshta regsvr32 rundll32 wmic bcdboot cscript wscript
  `),
    {
      before: atWordStart,
      after: seq(
        opt(lit(".exe")),
        any(
          seq(gap, any(oneOf("-/"), address, quote, lit("process"), seq(identifier, lit(".dll")))),
          seq(blanks, oneOf("/<>")),
        ),
      ),
    },
  ),
];
