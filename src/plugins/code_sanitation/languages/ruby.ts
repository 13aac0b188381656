// Ruby patterns: running code and commands, calls by name, unsafe loading, and interpolation in templates.
import { isInClass, NEWLINE, QUOTE, WHITESPACE, WORD } from "../char-classes.ts";
import { COMMA } from "../char-codes.ts";
import { charSetExcept, NOT_WORD } from "../char-set.ts";
import { choice, keyword, lit, oneOf, opt, run, seq, skipTo } from "../combinators.ts";
import { splitWords } from "../keyword-set.ts";
import { atWordStart, skipWhitespaceBack, type LookBehind } from "../look-behind.ts";
import { NO_MATCH } from "../matcher.ts";
import { unitAt } from "../normalized-text.ts";
import { pattern, type Pattern } from "../pattern.ts";
import { digits, identifier, ows, quote, wordBoundary } from "../tokens.ts";
import { call, callPatterns, UNQUALIFIED } from "./calls.ts";
import { COMMANDS } from "./shell-commands.ts";

const command = keyword(COMMANDS);
/** `7*7`, as attackers probe a template engine: a vulnerable one outputs 49. */
const arithmeticProbe = seq(digits, ows, lit("*"), ows, digits, ows, choice(lit("}"), lit("%>")));
/** Matches at the start of a line or statement: no word, quote or comma precedes. */
const statementStart: LookBehind = (input, at) => {
  const before = unitAt(input, skipWhitespaceBack(input, at) - 1);
  return unitAt(input, at - 1) === NEWLINE || !(isInClass(before, WORD | QUOTE) || before === COMMA)
    ? at
    : NO_MATCH;
};

export const RUBY: readonly Pattern[] = [
  ...callPatterns(
    "ruby.eval",
    ["eval", "exec", "system", "syscall"],
    ["kernel", "binding", "process", "self", "object"],
  ),
  pattern("ruby.scoped-eval", ["instance_eval", "class_eval", "module_eval", "instance_exec", "class_exec"], {
    before: atWordStart,
    after: seq(call, ows, choice(quote, lit("params"))),
  }),
  pattern("ruby.command-string", ["system", "exec", "eval", "spawn"], {
    precededBy: NOT_WORD,
    before: statementStart,
    after: seq(
      ows,
      quote,
      choice(seq(command, choice(oneOf(" ;|\"'"))), lit("/bin/"), lit("#{"), lit("rm ")),
    ),
  }),
  pattern("ruby.eval-string", ["eval"], {
    precededBy: charSetExcept(WORD, "-."),
    before: statementStart,
    after: seq(run(WHITESPACE, 1, 1), quote),
  }),
  pattern("ruby.percent-x", ["%x"], {
    before: atWordStart,
    after: seq(oneOf("([{|/<!"), ows, choice(command, lit("/"), lit("#{")), wordBoundary),
  }),
  pattern(
    "ruby.process",
    splitWords(`
  io.popen open3.capture open3.popen process.spawn kernel.spawn kernel.open pty.spawn kernel.fork
`),
    { precededBy: UNQUALIFIED, after: seq(opt(oneOf("23")), opt(identifier), choice(call, seq(ows, quote))) },
  ),
  pattern("ruby.pipe-open", ["open"], {
    precededBy: UNQUALIFIED,
    after: seq(call, ows, quote, ows, lit("|")),
  }),
  pattern("ruby.unsafe-load", ["yaml.load", "marshal.load", "erb.new", "oj.load", "psych.load"], {
    precededBy: UNQUALIFIED,
    after: seq(
      wordBoundary,
      call,
      ows,
      choice(quote, lit("params"), lit("request"), lit("cookies"), lit("base64")),
    ),
  }),
  pattern("ruby.send", [".send", ".public_send", ".__send__", ".constantize"], {
    after: seq(
      ows,
      lit("("),
      ows,
      choice(lit(":"), quote),
      choice(lit("eval"), lit("exec"), lit("system"), lit("instance_eval"), lit("`")),
    ),
  }),
  pattern("ruby.interpolation", ["#{"], {
    after: seq(
      ows,
      choice(
        seq(choice(lit("system"), lit("exec"), lit("eval")), ows, choice(lit("("), quote)),
        lit("`"),
        lit("%x"),
        lit("file.read"),
        lit("io.read"),
        arithmeticProbe,
      ),
    ),
  }),
  pattern("ruby.template", ["<%=", "<%"], {
    after: seq(
      ows,
      choice(
        arithmeticProbe,
        seq(
          choice(
            lit("system"),
            lit("exec"),
            lit("eval"),
            lit("`"),
            lit("io."),
            lit("file."),
            lit("dir."),
            lit("%x"),
          ),
          skipTo(oneOf("(`'\""), 20, ">"),
        ),
      ),
    ),
  }),
  pattern("ruby.unsafe-yaml", ["!ruby/object", "!ruby/hash", "!ruby/class", "!ruby/sym"], {}),
];
