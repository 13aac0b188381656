// Shell patterns for Windows: batch files, PowerShell, and preinstalled tools that attackers use.
import { isInClass, LETTER, WORD } from "../char-classes.ts";
import { COLON } from "../char-codes.ts";
import { choice, except, keyword, lit, oneOf, opt, run, seq, skipTo, times } from "../combinators.ts";
import { splitWords } from "../keyword-set.ts";
import { atWordStart, type LookBehind } from "../look-behind.ts";
import { NO_MATCH, type Matcher } from "../matcher.ts";
import { unitAt } from "../normalized-text.ts";
import { pattern, type Pattern } from "../pattern.ts";
import { digits, end, identifier, ows, quote, quoted, rws, wordBoundary } from "../tokens.ts";
import { address } from "./shell-grammar.ts";

/** Matches unless `for` is prose. In a batch file, a letter after `for` can only be a drive letter. */
const notProseFor: LookBehind = (input, at) =>
  isInClass(unitAt(input, at + 4), LETTER) && unitAt(input, at + 5) !== COLON ? NO_MATCH : at;

const BATCH_COMMANDS = splitWords(`
  echo goto call set exit cd cmd del copy start type md rd ren if for powershell
`);
const ifOperand: Matcher = choice(
  quoted(40),
  seq(lit("%"), except("%\n ", 0, 24), lit("%")),
  seq(lit("%"), oneOf("123456789~")),
  seq(oneOf("(["), except(")]\n", 0, 24), oneOf(")]")),
  seq(lit("!"), run(WORD, 1, 24), lit("!")),
  run(WORD, 1, 24),
);
const batchComparison = seq(
  ows,
  choice(
    lit("=="),
    seq(
      keyword(
        splitWords(`
    equ neq gtr geq lss leq
  `),
      ),
    ),
  ),
  ows,
);
const batchBody = seq(ows, opt(oneOf("(@")), ows, choice(keyword(BATCH_COMMANDS), lit("(")));

export const SHELL_WINDOWS: readonly Pattern[] = [
  pattern("shell.batch-for", ["for "], {
    before: atWordStart,
    guard: notProseFor,
    after: seq(
      times(0, 2, seq(lit("/"), oneOf("dflr"), rws)),
      opt(
        seq(
          choice(
            quoted(40),
            seq(lit('\\"'), skipTo(lit('\\"'), 40)),
            seq(run(LETTER, 1, 1), lit(":\\"), except(" \n", 0, 40)),
          ),
          rws,
        ),
      ),
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
    before: atWordStart,
    after: seq(
      opt(seq(lit("/i"), rws)),
      opt(seq(lit("not"), rws)),
      choice(
        seq(
          lit("exist"),
          rws,
          choice(
            seq(
              opt(quote),
              opt(seq(run(LETTER, 1, 1), lit(":"))),
              except(' \n"', 1, 60),
              opt(quote),
              choice(batchBody, seq(rws, lit("("), choice(end, lit("\n")))),
            ),
          ),
        ),
        seq(lit("defined"), rws, run(WORD, 1, 24), batchBody),
        seq(lit("errorlevel"), rws, digits, rws, choice(keyword(BATCH_COMMANDS), lit("("))),
        seq(ifOperand, batchComparison, ifOperand, batchBody),
        seq(lit("("), ifOperand, batchComparison, ifOperand, lit(")"), batchBody),
        seq(lit("%"), except("%\n ", 1, 24), lit("%"), batchComparison),
      ),
    ),
  }),
  pattern("shell.batch-if", ["if /i "], {
    before: atWordStart,
    after: seq(opt(seq(lit("not"), rws)), ifOperand, batchComparison, ifOperand),
  }),
  pattern(
    "shell.powershell",
    splitWords(`
  invoke-webrequest invoke-expression invoke-command invoke-wmimethod invoke-restmethod start-process
  downloadstring downloadfile -encodedcommand -executionpolicy frombase64string start-bitstransfer
`),
    {
      before: atWordStart,
      after: seq(
        wordBoundary,
        choice(seq(rws, choice(lit("-"), quote, lit("$"), address, lit("("), identifier)), lit("(")),
      ),
    },
  ),
  pattern("shell.powershell", ["powershell", "powershell.exe", "pwsh"], {
    before: atWordStart,
    after: seq(
      rws,
      oneOf("-/"),
      keyword(
        splitWords(`
  c command e enc encodedcommand ec ep exec executionpolicy nop noprofile w windowstyle inputformat nologo
`),
      ),
    ),
  }),
  pattern(
    "shell.windows-tool",
    splitWords(`
    certutil bitsadmin mshta regsvr32 rundll32 wmic bcdboot cscript wscript
  `),
    {
      before: atWordStart,
      after: seq(
        opt(lit(".exe")),
        choice(
          seq(rws, choice(oneOf("-/"), address, quote, lit("process"), seq(identifier, lit(".dll")))),
          seq(ows, oneOf("/<>")),
        ),
      ),
    },
  ),
];
