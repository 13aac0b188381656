// Ruby: code and commands run from text, calls by name, unsafe loading, and what templates interpolate.
import {
  any,
  atWordStart,
  blanks,
  blanksBack,
  digits,
  identifier,
  lit,
  oneOf,
  opt,
  quote,
  run,
  seq,
  upTo,
  word,
  wordEnd,
  type Before,
  words,
} from "../grammar.ts";
import { BLANK, isOf, NEWLINE, QUOTE, WORD } from "../char-classes.ts";
import { edgeWithout, NOT_WORD } from "../edge.ts";
import { pattern, type Pattern } from "../pattern.ts";
import { unitAt } from "../view.ts";
import { call, callPatterns, UNQUALIFIED } from "./calls.ts";
import { COMMANDS } from "./shell-commands.ts";

const command = word(COMMANDS);
/** What a template engine is tried with: it answers 49. */
const arithmeticProbe = seq(digits, blanks, lit("*"), blanks, digits, blanks, any(lit("}"), lit("%>")));
/** The start of a line or of a statement: no word and no comma stands before it. */
const statementStart: Before = (view, at) => {
  const before = unitAt(view, blanksBack(view, at) - 1);
  return unitAt(view, at - 1) === NEWLINE || !(isOf(before, WORD | QUOTE) || before === 0x2c) ? at : -1;
};

export const RUBY: readonly Pattern[] = [
  ...callPatterns(
    "ruby.eval",
    ["eval", "exec", "system", "syscall"],
    ["kernel", "binding", "process", "self", "object"],
  ),
  pattern("ruby.scoped-eval", ["instance_eval", "class_eval", "module_eval", "instance_exec", "class_exec"], {
    before: atWordStart,
    after: seq(call, blanks, any(quote, lit("params"))),
  }),
  pattern("ruby.command-string", ["system", "exec", "eval", "spawn"], {
    prev: NOT_WORD,
    before: statementStart,
    after: seq(blanks, quote, any(seq(command, any(oneOf(" ;|\"'"))), lit("/bin/"), lit("#{"), lit("rm "))),
  }),
  pattern("ruby.eval-string", ["eval"], {
    prev: edgeWithout(WORD, "-."),
    before: statementStart,
    after: seq(run(BLANK, 1, 1), quote),
  }),
  pattern("ruby.percent-x", ["%x"], {
    before: atWordStart,
    after: seq(oneOf("([{|/<!"), blanks, any(command, lit("/"), lit("#{")), wordEnd),
  }),
  pattern(
    "ruby.process",
    words(`
  io.popen open3.capture open3.popen process.spawn kernel.spawn kernel.open pty.spawn kernel.fork
`),
    { prev: UNQUALIFIED, after: seq(opt(oneOf("23")), opt(identifier), any(call, seq(blanks, quote))) },
  ),
  pattern("ruby.pipe-open", ["open"], {
    prev: UNQUALIFIED,
    after: seq(call, blanks, quote, blanks, lit("|")),
  }),
  pattern("ruby.unsafe-load", ["yaml.load", "marshal.load", "erb.new", "oj.load", "psych.load"], {
    prev: UNQUALIFIED,
    after: seq(
      wordEnd,
      call,
      blanks,
      any(quote, lit("params"), lit("request"), lit("cookies"), lit("base64")),
    ),
  }),
  pattern("ruby.send", [".send", ".public_send", ".__send__", ".constantize"], {
    after: seq(
      blanks,
      lit("("),
      blanks,
      any(lit(":"), quote),
      any(lit("eval"), lit("exec"), lit("system"), lit("instance_eval"), lit("`")),
    ),
  }),
  pattern("ruby.interpolation", ["#{"], {
    after: seq(
      blanks,
      any(
        seq(any(lit("system"), lit("exec"), lit("eval")), blanks, any(lit("("), quote)),
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
      blanks,
      any(
        arithmeticProbe,
        seq(
          any(
            lit("system"),
            lit("exec"),
            lit("eval"),
            lit("`"),
            lit("io."),
            lit("file."),
            lit("dir."),
            lit("%x"),
          ),
          upTo(oneOf("(`'\""), 20, ">"),
        ),
      ),
    ),
  }),
  pattern("ruby.unsafe-yaml", ["!ruby/object", "!ruby/hash", "!ruby/class", "!ruby/sym"], {}),
];
