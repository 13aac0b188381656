// JavaScript patterns: running text as code, writing to the page, script URLs, and typical first steps of injected scripts.
import { DIGIT, WHITESPACE, WORD } from "../char-classes.ts";
import { DOT } from "../char-codes.ts";
import { charSet, charSetExcept, charSetHas, NOT_WORD } from "../char-set.ts";
import { choice, exact, lit, not, oneOf, opt, peek, run, seq, times } from "../combinators.ts";
import { splitWords } from "../keyword-set.ts";
import { afterOneOf, afterOneOfAndOws, atWordStart } from "../look-behind.ts";
import { NO_MATCH } from "../matcher.ts";
import { unitAt } from "../normalized-text.ts";
import { pattern, type Pattern } from "../pattern.ts";
import { digits, end, identifier, ows, owsAndComments, quote, quoted, wordBoundary } from "../tokens.ts";
import { calledOn, callOfValue, callPatterns, inQuotesOrBrackets } from "./calls.ts";
import { eventAttributePatterns, scriptUrlPatterns } from "./markup.ts";

const GLOBALS = splitWords(`
    window self globalthis top parent frames this global
  `);
const call = seq(owsAndComments, choice(lit("("), lit("`")));
/** The constructor, not the keyword `function`: the case matters. */
const functionName = exact("Function");
const BEFORE_METHOD_OR_DECLARATION = charSet(WORD | WHITESPACE, ".");
const openCall = seq(owsAndComments, lit("("));
const assignment = seq(ows, opt(lit("+")), lit("="), not(lit("=")));
const stringArgument = seq(call, ows, peek(quote));
/** Arguments of dialogs in proofs of concept: a number, a cookie, the word "xss". */
const probeArgument = choice(
  seq(opt(oneOf("-+!~")), digits, choice(oneOf(")`,"), end)),
  lit(")"),
  lit("/"),
  seq(
    choice(lit("document"), lit("window"), lit("self"), lit("this"), lit("location")),
    choice(lit("."), lit("?."), lit("[")),
  ),
  lit("string.fromcharcode"),
  seq(opt(quote), lit("xss")),
);
const probeCall = choice(
  seq(opt(lit("?.")), owsAndComments, lit("("), ows, probeArgument),
  seq(lit("`"), choice(run(WORD, 1, 16), oneOf("${'\""), lit("`"))),
  seq(lit(".call("), choice(lit("null"), lit("this"), digits, lit(","), lit(" ,"))),
  seq(lit(".apply("), choice(lit("null"), lit("this"))),
  seq(lit(")"), call),
);
const member = (name: string) =>
  choice(
    seq(opt(lit("?")), lit("."), lit(name)),
    seq(opt(lit("?.")), ows, lit("["), ows, quote, lit(name), quote, ows, lit("]")),
  );

export const JAVASCRIPT: readonly Pattern[] = [
  ...callPatterns("js.eval", ["eval", "execscript"], GLOBALS),
  pattern("js.eval", ["eval", "alert", "execscript"], { before: inQuotesOrBrackets, after: callOfValue }),
  pattern("js.function-constructor", ["function"], {
    before: (input, at) => (unitAt(input, at - 1) === DOT ? NO_MATCH : atWordStart(input, at)),
    after: seq(owsAndComments, lit("("), ows, peek(quote)),
  }),
  pattern("js.function-constructor", ["new function"], {
    before: atWordStart,
    after: (input, at) => (functionName(input, at - 8) < 0 ? NO_MATCH : openCall(input, at)),
  }),
  pattern("js.function-constructor", ["function("], {
    before: (input, at) => {
      const isUnqualified = !charSetHas(BEFORE_METHOD_OR_DECLARATION, unitAt(input, at - 1));
      return isUnqualified && functionName(input, at) >= 0 ? at : NO_MATCH;
    },
    after: seq(ows, lit(")"), not(seq(ows, oneOf("{:=")))),
  }),
  pattern("js.constructor-chain", ["constructor"], {
    before: atWordStart,
    after: choice(
      seq(
        opt(seq(quote, lit("]"))),
        choice(seq(lit(".constructor"), call), seq(lit("["), quote, lit("constructor"))),
        opt(quote),
      ),
      // `constructor("return …")()`, `constructor('alert(1)')()`
      seq(call, quote, choice(lit("return"), lit("alert"), lit("eval"), lit("import"))),
    ),
  }),
  pattern("js.timer-string", ["settimeout", "setinterval"], {
    before: calledOn(GLOBALS),
    after: stringArgument,
  }),
  pattern("js.listener-string", ["addeventlistener", "attachevent"], {
    before: atWordStart,
    after: seq(call, ows, quoted(40), ows, lit(","), ows, peek(quote)),
  }),
  pattern("js.inner-html", ["innerhtml", "outerhtml"], {
    before: atWordStart,
    after: seq(opt(seq(quote, ows, lit("]"))), assignment),
  }),
  pattern("js.insert-html", ["insertadjacenthtml", "createcontextualfragment", "setHTMLUnsafe"], {
    before: atWordStart,
    after: call,
  }),
  pattern("js.document-write", ["document"], {
    before: atWordStart,
    after: choice(seq(choice(member("writeln"), member("write")), wordBoundary, call)),
  }),
  pattern("js.cookie", ["document"], {
    before: atWordStart,
    after: choice(seq(opt(lit("?.")), lit("["), ows, quote, lit("cookie"), quote), lit("?.cookie")),
  }),
  pattern("js.cookie", ["document.cookie", "document.domain", "localstorage.getitem"], {
    before: afterOneOfAndOws("(+=!{`"),
    after: seq(wordBoundary, peek(choice(oneOf(")+}`;"), end))),
  }),
  pattern("js.dialog", ["alert", "confirm", "prompt"], {
    precededBy: charSetExcept(WORD, "`"),
    before: calledOn(GLOBALS),
    after: seq(wordBoundary, probeCall),
  }),
  pattern("js.dialog", ["(alert)", "(confirm)", "(prompt)", "(eval)"], {
    precededBy: NOT_WORD,
    after: seq(ows, lit("(")),
  }),
  pattern("js.dialog-value", ["${alert}", "${eval}", "${confirm}", "${prompt}", "${navigation.navigate}"]),
  pattern(
    "js.global-member",
    splitWords(`
    self window globalthis top parent frames this
  `),
    {
      before: atWordStart,
      after: seq(
        lit("["),
        ows,
        quote,
        times(1, 24, choice(run(WORD | WHITESPACE, 1, 12), oneOf("+$'\""))),
        lit("]"),
        ows,
        choice(lit("("), lit("["), lit("=")),
      ),
    },
  ),
  pattern("js.char-codes", ["string.fromcharcode"], {
    before: atWordStart,
    after: seq(call, ows, digits, choice(seq(ows, lit(","), ows, digits), lit(")"))),
  }),
  pattern("js.base64", ["atob", "btoa"], {
    before: calledOn(GLOBALS),
    after: seq(wordBoundary, lit("("), choice(lit(")"), seq(quote, run(WORD, 4, 40)))),
  }),
  pattern(
    "js.coerced-array",
    splitWords(`
    [][ []( [!+[] [+[]] ![]+ (![] [].
  `),
    {
      after: choice(
        peek(oneOf("([!+{")),
        seq(choice(lit("sort"), lit("map"), lit("filter"), lit("constructor")), choice(lit("."), lit("["))),
        seq(choice(lit("["), quote)),
      ),
    },
  ),
  pattern("js.tagged-call", [".call`", ".apply`", ". call `"], {
    before: (_view, at) => at,
    after: seq(ows, lit("${")),
  }),
  pattern("js.reflect", ["reflect.apply", "reflect.construct"], {
    before: atWordStart,
    after: choice(lit(".call"), seq(lit("("), ows, choice(lit("alert"), lit("eval"), lit("function")))),
  }),
  pattern("js.prototype", ["__proto__", "constructor.prototype", "constructor[prototype]"], {
    after: choice(oneOf(".["), seq(quote, ows, oneOf(":]")), seq(lit("]"), oneOf("[.="))),
  }),
  pattern("js.child-process", ["child_process"], {
    before: afterOneOf("'\"`"),
    after: seq(quote, ows, lit(")"), ows, lit(".")),
  }),
  pattern(
    "js.child-process",
    splitWords(`
  child_process.exec( child_process.execsync( child_process.spawn( child_process.spawnsync(
  child_process.fork( process.mainmodule. process.mainmodule[ process.binding('
`),
    { before: atWordStart, after: not(lit(")")) },
  ),
  pattern("js.busy-wait", ["while"], {
    before: atWordStart,
    after: seq(
      ows,
      lit("("),
      ows,
      identifier,
      ows,
      lit("-"),
      ows,
      identifier,
      ows,
      lit("<"),
      ows,
      run(DIGIT, 4, 12),
    ),
  }),
  pattern("js.navigation", ["location", "location.href", "location.replace", "location.assign"], {
    before: atWordStart,
    after: seq(
      ows,
      oneOf("=("),
      ows,
      opt(quote),
      choice(lit("//"), lit("javascript:"), lit("data:"), lit("http://"), lit("https://")),
      identifier,
    ),
  }),
  pattern("js.image-beacon", ["new image"], {
    before: atWordStart,
    after: seq(times(0, 4, oneOf("() ")), lit("."), lit("src"), ows, lit("=")),
  }),
  pattern("js.image-beacon", ["new(image)"], { before: atWordStart }),
  pattern("js.some-dialog", [".some(", ".map(", ".find(", ".filter(", ".foreach("], {
    after: seq(choice(lit("alert"), lit("confirm"), lit("prompt"), lit("eval")), wordBoundary, ows, lit(")")),
  }),
  pattern("js.bad-import", ["import"], {
    before: atWordStart,
    after: seq(lit("("), ows, quote, choice(lit("//"), lit("http"), lit("data:"))),
  }),
  ...eventAttributePatterns("js.event-attribute"),
  ...scriptUrlPatterns("js.script-address"),
];
