// JavaScript that hides what it does: computed names, code from character codes, expressions without letters. Ordinary programs
// do not contain these, so `relaxed` uses most of them too.
import { WORD } from "../../char-classes.ts";
import { OPEN_PAREN } from "../../char-codes.ts";
import { choice, keyword, lit, oneOf, opt, peek, run, seq, times } from "../../combinators.ts";
import { splitWords } from "../../keyword-set.ts";
import {
  afterOneOfAndOws,
  atWordStart,
  skipWhitespaceBack,
  wordBefore,
  type LookBehind,
} from "../../look-behind.ts";
import { NO_MATCH, type Matcher } from "../../matcher.ts";
import { unitAt } from "../../normalized-text.ts";
import { pattern, type Pattern } from "../../pattern.ts";
import { digits, ows, quote, rws } from "../../tokens.ts";
import { call, callOfValue, inQuotesOrBrackets } from "../calls.ts";
import { endsText, startsText } from "../lone-text.ts";
import { computedMember, computedMemberOf, dot } from "../member-access.ts";
import { parenthesesSpell } from "../split-names.ts";

const GLOBAL_NAMES = splitWords("self window globalthis top parent frames this");
/** Members of the global object that injected code uses. */
const GLOBAL_MEMBERS = splitWords(`
  eval alert confirm prompt document location function settimeout setinterval atob fetch open execscript
`);
const CALLED_BY_VALUE = ["eval", "alert", "confirm", "prompt", "execscript"];

const codeText: Matcher = keyword(["return", "alert", "await"]);
const charCode = seq(ows, lit(","), ows, digits);

/** Functions that run or insert a text. */
const SINKS = new Set(
  splitWords("eval function settimeout setinterval write writeln execscript unescape alert"),
);
const codeSink: LookBehind = (input, at) => {
  const open = skipWhitespaceBack(input, at) - 1;
  if (unitAt(input, open) !== OPEN_PAREN) return NO_MATCH;
  return SINKS.has(wordBefore(input, skipWhitespaceBack(input, open))) ? open : NO_MATCH;
};
const afterDot = afterOneOfAndOws(".");

export const OBFUSCATED: readonly Pattern[] = [
  pattern("js.called-value", CALLED_BY_VALUE, {
    catches: "a name in quotes or brackets that is called",
    from: "relaxed",
    finds: [
      "(alert)(1)",
      "('eval')(x)",
      '( "alert" ) (1)',
      "(confirm)('x')",
      "(prompt) (1)",
      "['execScript'][0](x)",
      "{[eval][0]} (x)",
    ],
    ignores: ["What does 'alert' do?", "eval (x) in prose", "require('alert') (see below)", "('alerts')(1)"],
    before: inQuotesOrBrackets,
    after: callOfValue,
  }),
  pattern("js.split-name", [")(", ") ("], {
    catches: "a name that is put together from pieces and called",
    from: "relaxed",
    finds: ["('al'+'ert')(1)", "('ev' + 'al') (x)"],
    ignores: ["(a + b)(c)", "run('al'+'ert')(1)", "(first.second) (x)"],
    before: parenthesesSpell(CALLED_BY_VALUE),
  }),
  pattern("js.global-member", GLOBAL_MEMBERS, {
    catches: "a function of the global object, accessed by a computed name",
    finds: ["self['alert']", "window[ 'ev' + 'al' ]", 'top ["document"]', "this?.['alert'](1)"],
    ignores: ["window['myApp'] = {}", "this['name']", "this['documents']", "myself['alert']", "self[index]"],
    before: computedMemberOf(GLOBAL_NAMES),
    after: seq(quote, ows, lit("]")),
  }),
  pattern("js.global-member", GLOBAL_NAMES, {
    catches: "a member of the global object whose name is put together from strings",
    from: "relaxed",
    finds: [
      "window['set' + 'Timeout']",
      'self["a"+"b"](1)',
      "globalThis['a'+'b']",
      "top['a'+'b']",
      "parent['a'+'b']",
      "frames['a'+'b']",
      "this['a'+'b']",
      "self[atob(x)](y)",
    ],
    ignores: ["this['on' + name]", "this['a']", "myself['a'+'b']"],
    before: atWordStart,
    after: seq(
      lit("["),
      ows,
      choice(seq(quote, run(WORD, 0, 16), quote, ows, lit("+"), ows, quote), seq(lit("atob"), call)),
    ),
  }),
  pattern("js.constructor-chain", ["constructor"], {
    catches: "the Function constructor, reached from any object",
    from: "relaxed",
    finds: [
      "[].constructor.constructor('x')()",
      "x . constructor . constructor ('x')",
      "x['constructor']['constructor']('x')",
      "x.constructor['constructor']",
      "x.constructor?.['constructor']",
      "''.sub.constructor('alert(1)')()",
      "x.constructor('return 1')()",
      "x.constructor('await 1')()",
      "{{x.constructor 'return 1'}}",
    ],
    ignores: [
      "this.constructor.name",
      "class A { constructor('x') {} }",
      "myconstructor('return')",
      "node.constructor.constructors",
      "First the constructor. Constructor (1) is shown above.",
    ],
    before: atWordStart,
    after: choice(
      seq(
        opt(seq(quote, ows, lit("]"))),
        choice(seq(dot, lit("constructor"), call), computedMember(["constructor"])),
      ),
      seq(call, ows, quote, codeText),
      seq(rws, quote, lit("return")),
    ),
  }),
  pattern("js.char-codes", ["string.fromcharcode"], {
    catches: "a text from character codes that is run or inserted",
    from: "relaxed",
    finds: [
      "eval(String.fromCharCode(97,98))",
      "document.write ( String.fromCharCode(60",
      "Function(String.fromCharCode(97",
    ],
    ignores: [
      "String.fromCharCode(72, 105)",
      "print(String.fromCharCode(65))",
      "out.write(String.fromCharCode(code))",
    ],
    before: codeSink,
    after: seq(call, ows, digits),
  }),
  pattern("js.char-codes", ["string.fromcharcode"], {
    catches: "a text of five or more character codes",
    finds: ["x=String.fromCharCode(97,108,101,114,116)"],
    ignores: ["String.fromCharCode(72, 105)", "myString.fromCharCode(1,2,3,4,5)"],
    before: atWordStart,
    after: seq(call, ows, digits, times(4, 4, charCode)),
  }),
  pattern("js.base64", ["atob", "btoa"], {
    catches: "a text that consists of a Base64 conversion",
    finds: ["atob(x)", "btoa('x')", "';atob(name)//"],
    ignores: ["const user = atob(token);", "Use atob() to decode it.", "atob"],
    guard: startsText,
    after: seq(ows, lit("("), run(WORD, 0, 40), opt(seq(quote, run(WORD, 0, 60), quote)), lit(")"), endsText),
  }),
  pattern("js.coerced-array", splitWords("[][ []( [!+[] [+[]] ![]+"), {
    catches: "code without letters, made from empty arrays",
    from: "relaxed",
    finds: [
      "[][(![]+[])[+[]]]",
      "[]([![]])",
      "[!+[]+!+[]]",
      "x[+[]]+[]",
      "![]+[]",
      "(![]+[])[+!+[]]",
      "[]['filter']",
      "[][[]]",
    ],
    ignores: [
      "[](int a, int b) { return a < b; }",
      "let grid: number[][] = [];",
      "x = [][0]",
      "if (![].length) return;",
    ],
    after: choice(peek(oneOf("([!+{")), quote),
  }),
  pattern("js.array-method", ["[]"], {
    catches: "a method of an empty array that leads to other code",
    from: "relaxed",
    finds: ["[].sort.call`x`", "[] . find . constructor", "[].at.call `x`"],
    ignores: ["[].map.call(nodes, read)", "[].concat(x)", "const rows = []; sort.call(x)"],
    after: seq(dot, run(WORD, 2, 16), dot, choice(keyword(["constructor"]), seq(lit("call"), ows, lit("`")))),
  }),
  pattern("js.tagged-call", ["call`", "apply`", "call `"], {
    catches: "a function called with a template",
    from: "relaxed",
    finds: ["[].sort.call`${alert}1`", "x.apply`${y}`", "x . call ` ${ alert }`"],
    ignores: ["Use `fn.call` or `x`", "call`${x}`", "the call `${x}` is slow"],
    before: afterDot,
    after: seq(ows, lit("${")),
  }),
  pattern("js.template-value", ["${alert}", "${eval}", "${confirm}", "${prompt}", "${navigation.navigate}"], {
    catches: "a function as a value in a template",
    from: "relaxed",
    finds: ["x`${alert}1`", "x`${eval}`", "x`${confirm}`", "x`${prompt}1`", "`${navigation.navigate}`"],
    ignores: ["`${alertText}`", "echo ${promptly}", "`${alert} is shown`"],
    after: choice(digits, quote),
  }),
  pattern("js.reflect", ["reflect.apply", "reflect.construct"], {
    catches: "a call of a function through Reflect",
    from: "relaxed",
    finds: [
      "Reflect.apply(alert, null, [1])",
      "Reflect.construct ( Function",
      "Reflect.apply(eval, null, x)",
      "Reflect.apply.call`x`",
    ],
    ignores: [
      "Reflect.apply(target, self, args)",
      "MyReflect.apply(alert)",
      "Reflect.construct(target, args)",
    ],
    before: atWordStart,
    after: choice(lit(".call"), seq(call, ows, keyword(["alert", "eval", "function"]))),
  }),
  pattern("js.regex-source", ["/.source"], {
    catches: "a name put together from the sources of regular expressions",
    from: "relaxed",
    finds: ["top[/al/.source+/ert/.source](1)", "x = /a/.source + 'b'"],
    ignores: ["const text = /a+/.source;", "see src/.source"],
    after: seq(ows, lit("+"), ows, choice(lit("/"), quote)),
  }),
];
