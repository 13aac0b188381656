// JavaScript that runs a text as code: eval, the Function constructor, timers and listeners with a string.
import { WHITESPACE, WORD } from "../../char-classes.ts";
import { BACKTICK } from "../../char-codes.ts";
import { charSet, charSetHas, NOT_WORD } from "../../char-set.ts";
import { choice, exact, keyword, lit, not, oneOf, opt, peek, run, seq } from "../../combinators.ts";
import { splitWords } from "../../keyword-set.ts";
import { atWordStart, type LookBehind } from "../../look-behind.ts";
import { NO_MATCH, type Matcher } from "../../matcher.ts";
import { unitAt } from "../../normalized-text.ts";
import { pattern, type Pattern } from "../../pattern.ts";
import { digits, identifier, ows, quote, quoted } from "../../tokens.ts";
import { call, calledOn, callPatterns } from "../calls.ts";
import { endsText, startsTextOrWord } from "../lone-text.ts";
import { dot, jsDot } from "../member-access.ts";

/** Names of the global object. */
export const GLOBALS = splitWords(`
  window self globalthis top parent frames this global
`);

/** The constructor, not the keyword `function`: the case matters. */
const functionName = exact("Function");
const newFunction = exact("new Function");
const BEFORE_METHOD_OR_DECLARATION = charSet(WORD | WHITESPACE, ".");
const unqualifiedFunction: LookBehind = (input, at) => {
  const isUnqualified = !charSetHas(BEFORE_METHOD_OR_DECLARATION, unitAt(input, at - 1));
  return isUnqualified && functionName(input, at) >= 0 ? at : NO_MATCH;
};
const onGlobals = calledOn(GLOBALS);
const capitalizedFunction: LookBehind = (input, at) =>
  functionName(input, at) < 0 ? NO_MATCH : onGlobals(input, at);
const stringArgument: Matcher = seq(call, ows, peek(quote));
/** `Function('f')` of symbolic mathematics: a name is no code. */
const nameInQuotes = seq(quote, run(WORD, 1, 24), quote);
/** `(0,eval)(`, `eval?.(`, `eval.call(`, and a template as the argument. */
const indirectCall: Matcher = choice(
  lit(")("),
  seq(lit("?."), lit("(")),
  seq(dot, keyword(["call", "apply"]), call),
  seq(lit("`"), run(WORD, 1, 16)),
);

export const TEXT_AS_CODE: readonly Pattern[] = [
  ...callPatterns("js.eval", ["eval", "execscript"], GLOBALS, {
    catches: "a call of eval",
    finds: [
      "eval()",
      "eval(code)",
      "window.eval(name)",
      "window . eval ( name )",
      "eval /* x */ ('1')",
      "eval (name)",
      "execScript('go()')",
    ],
    ignores: [
      "What does eval() do, and is `eval()` slow?",
      "model.eval()",
      "model . eval ( batch )",
      "function eval(code) { return run(code); }",
      "class Node {\n  eval(scope) {\n    return scope;\n  }\n}",
      "evaluate(x)",
      "medieval(x)",
      "Use eval(...) with care.",
      "The eval (short for evaluation) takes two days.",
    ],
  }),
  pattern("js.indirect-eval", ["eval"], {
    catches: "eval called through an expression, which runs the code in the global scope",
    finds: [
      "(0,eval)('x')",
      "(1, eval)(name)",
      "eval?.(name)",
      "eval.call(null, name)",
      "eval.apply(null, names)",
      "eval`name`",
    ],
    ignores: [
      "const names = [run, eval];",
      "retrieval.call(x)",
      "`eval` runs a text as code",
      "the `eval`uator",
      "f(x, eval) (see below)",
    ],
    precededBy: NOT_WORD,
    before: (input, at) => (unitAt(input, at - 1) === BACKTICK ? NO_MATCH : at),
    after: indirectCall,
  }),
  pattern("js.function-constructor", ["function"], {
    catches: "the Function constructor with a text",
    finds: ["Function('return 1')", "x = Function ( 'return this' )()", "parent.Function('go()')"],
    ignores: [
      "function('x = 1')",
      "myFunction('x = 1')",
      "$.Function('x = 1')",
      "Function(scope)",
      "f = Function('f')",
    ],
    before: capitalizedFunction,
    after: seq(stringArgument, not(nameInQuotes)),
  }),
  pattern("js.function-constructor", ["new function"], {
    catches: "a new object of the Function constructor",
    finds: ["new Function(code)", "new Function ('a', 'return a')", "new Function // x\n(code)"],
    ignores: [
      "new function() { this.x = 1; }",
      "renew Function(code)",
      "a new Function was added",
      "Is `new Function()` slow?",
    ],
    precededBy: NOT_WORD,
    before: (input, at) => (newFunction(input, at) < 0 ? NO_MATCH : at),
    after: seq(call, not(lit(")`"))),
  }),
  pattern("js.function-constructor", ["function("], {
    catches: "the Function constructor without arguments",
    finds: ["Function()", "x=Function( )()"],
    ignores: ["Function() {", "x.Function()", "function()", "Function(): void", "Function(x)"],
    before: unqualifiedFunction,
    after: seq(ows, lit(")"), not(seq(ows, oneOf("{:=")))),
  }),
  pattern("js.timer-string", ["settimeout", "setinterval"], {
    catches: "a timer that runs a text as code",
    finds: ["setTimeout('go()', 10)", 'window.setInterval ( "go()", 10)', "setTimeout(`go()`)"],
    ignores: ["setTimeout(() => go(), 10)", "page.setTimeout('10s')", "const id = setInterval(tick, 10)"],
    before: calledOn(GLOBALS),
    after: stringArgument,
  }),
  pattern("js.timer-string", ["settimeout", "setinterval"], {
    catches: "a timer that runs a text from the address of the page",
    finds: [
      "setTimeout(location.hash)",
      "setTimeout(location.href)",
      "setInterval ( location . search . slice(1) )",
    ],
    ignores: [
      "x = setTimeout(locationUpdate, 10)",
      "page.setTimeout(location.hash)",
      "x = setTimeout(location.x)",
    ],
    before: calledOn(GLOBALS),
    after: seq(call, ows, lit("location"), jsDot, keyword(["hash", "search", "href"])),
  }),
  pattern("js.timer-string", ["settimeout", "setinterval"], {
    catches: "a text that consists of a timer with a variable, which may be a text",
    finds: ["setInterval(payload, 30)", 'ann";setTimeout(title, 20)//', "';setTimeout(name)//"],
    ignores: [
      "const id = setTimeout(tick, 10)",
      "setTimeout(tick, 10); next();",
      "setTimeout(() => go(), 10)",
    ],
    guard: startsTextOrWord,
    after: seq(call, ows, identifier, opt(seq(ows, lit(","), ows, digits)), ows, lit(")"), endsText),
  }),
  pattern("js.listener-string", ["addeventlistener", "attachevent"], {
    catches: "an event listener that is a text",
    finds: [
      "button.addEventListener('click', 'go()')",
      'window.addEventListener ( "load" , "go()" )',
      "box.attachEvent('onclick', 'go()')",
    ],
    ignores: [
      "button.addEventListener('click', go)",
      "myaddEventListener('click', 'go()')",
      "button.addEventListener(event, 'go')",
    ],
    before: atWordStart,
    after: seq(call, ows, quoted(40), ows, lit(","), ows, peek(quote)),
  }),
];
