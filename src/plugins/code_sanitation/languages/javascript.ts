// JavaScript: text that is run as a program, the page written to, scripts in addresses, and what injected scripts do first.
import { BLANK, DIGIT, isOf, WORD } from "../char-classes.ts";
import { edgeWithout, NOT_WORD } from "../edge.ts";
import {
  any,
  atWordStart,
  blanks,
  blanksAndComments,
  blanksBack,
  digits,
  end,
  exact,
  identifier,
  lit,
  not,
  oneOf,
  opt,
  peek,
  quote,
  quoted,
  run,
  seq,
  times,
  wordEnd,
  words,
} from "../grammar.ts";
import { pattern, type Pattern } from "../pattern.ts";
import { unitAt } from "../view.ts";
import { asValue, calledOn, calledValue, callPatterns } from "./calls.ts";
import { eventHandlers, scriptAddresses } from "./markup.ts";

const GLOBALS = words(`
    window self globalthis top parent frames this global
  `);
const call = seq(blanksAndComments, any(lit("("), lit("`")));
const functionName = exact("Function");
const openCall = seq(blanksAndComments, lit("("));
const assignment = seq(blanks, opt(lit("+")), lit("="), not(lit("=")));
const stringArgument = seq(call, blanks, peek(quote));
/** What a proof of concept shows: a number, a cookie, its own name. */
const probeArgument = any(
  seq(opt(oneOf("-+!~")), digits, any(oneOf(")`,"), end)),
  lit(")"),
  lit("/"),
  seq(
    any(lit("document"), lit("window"), lit("self"), lit("this"), lit("location")),
    any(lit("."), lit("?."), lit("[")),
  ),
  lit("string.fromcharcode"),
  seq(opt(quote), lit("xss")),
);
const probeCall = any(
  seq(opt(lit("?.")), blanksAndComments, lit("("), blanks, probeArgument),
  seq(lit("`"), any(run(WORD, 1, 16), oneOf("${'\""), lit("`"))),
  seq(lit(".call("), any(lit("null"), lit("this"), digits, lit(","), lit(" ,"))),
  seq(lit(".apply("), any(lit("null"), lit("this"))),
  seq(lit(")"), call),
);
const member = (name: string) =>
  any(
    seq(opt(lit("?")), lit("."), lit(name)),
    seq(opt(lit("?.")), blanks, lit("["), blanks, quote, lit(name), quote, blanks, lit("]")),
  );

export const JAVASCRIPT: readonly Pattern[] = [
  ...callPatterns("js.eval", ["eval", "execscript"], GLOBALS),
  pattern("js.eval", ["eval", "alert", "execscript"], { before: asValue, after: calledValue }),
  pattern("js.function-constructor", ["function"], {
    before: (view, at) => (unitAt(view, at - 1) === 0x2e ? -1 : atWordStart(view, at)),
    after: seq(blanksAndComments, lit("("), blanks, peek(quote)),
  }),
  pattern("js.function-constructor", ["new function"], {
    before: atWordStart,
    after: (view, at) => (functionName(view, at - 8) < 0 ? -1 : openCall(view, at)),
  }),
  pattern("js.function-constructor", ["function("], {
    before: (view, at) =>
      isOf(unitAt(view, at - 1), WORD | BLANK) || unitAt(view, at - 1) === 0x2e
        ? -1
        : functionName(view, at) < 0
          ? -1
          : at,
    after: seq(blanks, lit(")"), not(seq(blanks, oneOf("{:=")))),
  }),
  pattern("js.constructor-chain", ["constructor"], {
    before: atWordStart,
    after: any(
      seq(
        opt(seq(quote, lit("]"))),
        any(seq(lit(".constructor"), call), seq(lit("["), quote, lit("constructor"))),
        opt(quote),
      ),
      seq(call, quote, upToReturn()),
    ),
  }),
  pattern("js.timer-string", ["settimeout", "setinterval"], {
    before: calledOn(GLOBALS),
    after: stringArgument,
  }),
  pattern("js.listener-string", ["addeventlistener", "attachevent"], {
    before: atWordStart,
    after: seq(call, blanks, quoted(40), blanks, lit(","), blanks, peek(quote)),
  }),
  pattern("js.inner-html", ["innerhtml", "outerhtml"], {
    before: atWordStart,
    after: seq(opt(seq(quote, blanks, lit("]"))), assignment),
  }),
  pattern("js.insert-html", ["insertadjacenthtml", "createcontextualfragment", "setHTMLUnsafe"], {
    before: atWordStart,
    after: call,
  }),
  pattern("js.document-write", ["document"], {
    before: atWordStart,
    after: any(seq(any(member("writeln"), member("write")), wordEnd, call)),
  }),
  pattern("js.cookie", ["document"], {
    before: atWordStart,
    after: any(seq(opt(lit("?.")), lit("["), blanks, quote, lit("cookie"), quote), lit("?.cookie")),
  }),
  pattern("js.cookie", ["document.cookie", "document.domain", "localstorage.getitem"], {
    before: (view, at) => {
      const operator = unitAt(view, blanksBack(view, at) - 1);
      return "(+=!{`".includes(String.fromCharCode(operator || 0x20)) ? at : -1;
    },
    after: seq(wordEnd, peek(any(oneOf(")+}`;"), end))),
  }),
  pattern("js.dialog", ["alert", "confirm", "prompt"], {
    prev: edgeWithout(WORD, "`"),
    before: calledOn(GLOBALS),
    after: seq(wordEnd, probeCall),
  }),
  pattern("js.dialog", ["(alert)", "(confirm)", "(prompt)", "(eval)"], {
    prev: NOT_WORD,
    after: seq(blanks, lit("(")),
  }),
  pattern("js.dialog-value", ["${alert}", "${eval}", "${confirm}", "${prompt}", "${navigation.navigate}"]),
  pattern(
    "js.global-member",
    words(`
    self window globalthis top parent frames this
  `),
    {
      before: atWordStart,
      after: seq(
        lit("["),
        blanks,
        quote,
        times(1, 24, any(run(WORD | BLANK, 1, 12), oneOf("+$'\""))),
        lit("]"),
        blanks,
        any(lit("("), lit("["), lit("=")),
      ),
    },
  ),
  pattern("js.char-codes", ["string.fromcharcode"], {
    before: atWordStart,
    after: seq(call, blanks, digits, any(seq(blanks, lit(","), blanks, digits), lit(")"))),
  }),
  pattern("js.base64", ["atob", "btoa"], {
    before: calledOn(GLOBALS),
    after: seq(wordEnd, lit("("), any(lit(")"), seq(quote, run(WORD, 4, 40)))),
  }),
  pattern(
    "js.coerced-array",
    words(`
    [][ []( [!+[] [+[]] ![]+ (![] [].
  `),
    {
      after: any(
        peek(oneOf("([!+{")),
        seq(any(lit("sort"), lit("map"), lit("filter"), lit("constructor")), any(lit("."), lit("["))),
        seq(any(lit("["), quote)),
      ),
    },
  ),
  pattern("js.tagged-call", [".call`", ".apply`", ". call `"], {
    before: (_view, at) => at,
    after: seq(blanks, lit("${")),
  }),
  pattern("js.reflect", ["reflect.apply", "reflect.construct"], {
    before: atWordStart,
    after: any(lit(".call"), seq(lit("("), blanks, any(lit("alert"), lit("eval"), lit("function")))),
  }),
  pattern("js.prototype", ["__proto__", "constructor.prototype", "constructor[prototype]"], {
    after: any(oneOf(".["), seq(quote, blanks, oneOf(":]")), seq(lit("]"), oneOf("[.="))),
  }),
  pattern("js.child-process", ["child_process"], {
    before: (view, at) => ("'\"`".includes(String.fromCharCode(unitAt(view, at - 1) || 0x20)) ? at : -1),
    after: seq(quote, blanks, lit(")"), blanks, lit(".")),
  }),
  pattern(
    "js.child-process",
    words(`
  child_process.exec( child_process.execsync( child_process.spawn( child_process.spawnsync(
  child_process.fork( process.mainmodule. process.mainmodule[ process.binding('
`),
    { before: atWordStart, after: not(lit(")")) },
  ),
  pattern("js.busy-wait", ["while"], {
    before: atWordStart,
    after: seq(
      blanks,
      lit("("),
      blanks,
      identifier,
      blanks,
      lit("-"),
      blanks,
      identifier,
      blanks,
      lit("<"),
      blanks,
      run(DIGIT, 4, 12),
    ),
  }),
  pattern("js.navigation", ["location", "location.href", "location.replace", "location.assign"], {
    before: atWordStart,
    after: seq(
      blanks,
      oneOf("=("),
      blanks,
      opt(quote),
      any(lit("//"), lit("javascript:"), lit("data:"), lit("http://"), lit("https://")),
      identifier,
    ),
  }),
  pattern("js.image-beacon", ["new image"], {
    before: atWordStart,
    after: seq(times(0, 4, oneOf("() ")), lit("."), lit("src"), blanks, lit("=")),
  }),
  pattern("js.image-beacon", ["new(image)"], { before: atWordStart }),
  pattern("js.some-dialog", [".some(", ".map(", ".find(", ".filter(", ".foreach("], {
    after: seq(any(lit("alert"), lit("confirm"), lit("prompt"), lit("eval")), wordEnd, blanks, lit(")")),
  }),
  pattern("js.bad-import", ["import"], {
    before: atWordStart,
    after: seq(lit("("), blanks, quote, any(lit("//"), lit("http"), lit("data:"))),
  }),
  ...eventHandlers("js.event-attribute"),
  ...scriptAddresses("js.script-address"),
];

/** `constructor("return …")()`, `constructor('alert(1)')()`. */
function upToReturn() {
  return any(lit("return"), lit("alert"), lit("eval"), lit("import"));
}
