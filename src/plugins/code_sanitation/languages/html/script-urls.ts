// URLs that run a script: `javascript:` and data URLs of active types. JavaScript and HTML share the patterns.
import { isInClass, toLower, WHITESPACE, WORD } from "../../char-classes.ts";
import { charSet } from "../../char-set.ts";
import { choice, keyword, lit, not, oneOf, opt, run, seq, skipTo, times } from "../../combinators.ts";
import { splitWords } from "../../keyword-set.ts";
import { requiring, type LookBehind } from "../../look-behind.ts";
import { NO_MATCH, type Matcher } from "../../matcher.ts";
import { unitAt } from "../../normalized-text.ts";
import { pattern, type Pattern, type PatternConditions } from "../../pattern.ts";
import { precededByPairs } from "../../required-before.ts";
import { digits, end, identifier, ows, quote } from "../../tokens.ts";
import { inTag } from "./tag-grammar.ts";

/** Script schemes as code units in reverse order, for matching backwards. */
const REVERSED_SCHEMES = ["javascript", "vbscript", "livescript", "jscript"].map((name) =>
  Array.from(name, (letter) => letter.charCodeAt(0)).reverse(),
);
const SCRIPT_LENGTH = "script".length;

const WHITESPACE_OR_P = charSet(WHITESPACE, "pP");
const WHITESPACE_OR_T = charSet(WHITESPACE, "tT");
const AFTER_SCHEME = precededByPairs([[charSet(0, "tT"), WHITESPACE_OR_P]]);
const AFTER_SPLIT_SCHEME = precededByPairs([
  [charSet(0, "tT"), WHITESPACE_OR_P],
  [charSet(WHITESPACE), WHITESPACE_OR_T],
]);

/** Returns a look-behind for the name of a script scheme before `:`. Browsers ignore whitespace inside it. */
function schemeBefore(isSplit: boolean): LookBehind {
  return requiring(isSplit ? AFTER_SPLIT_SCHEME : AFTER_SCHEME, (input, at) => {
    for (const letters of REVERSED_SCHEMES) {
      let index = at - 1;
      let matched = 0;
      let gaps = 0;
      while (index >= 0 && at - index < 40 && matched < letters.length) {
        const code = unitAt(input, index);
        if (toLower(code) === letters[matched]) matched++;
        else if (!isInClass(code, WHITESPACE) || (matched === 0 && !isSplit)) break;
        // `java script:` is prose.
        else if (matched > 0 && matched !== SCRIPT_LENGTH) gaps++;
        index--;
      }
      input.work.steps += at - index;
      if (matched === letters.length && (gaps > 0 || !isSplit) && !isInClass(unitAt(input, index), WORD))
        return index + 1;
      // All schemes end with `script`.
      if (matched < SCRIPT_LENGTH) return NO_MATCH;
    }
    return NO_MATCH;
  });
}

const scriptScheme = schemeBefore(false);
const splitScheme = schemeBefore(true);

/** Objects of the browser. Calls of other objects are functions that a page defines for its own links. */
const BROWSER_OBJECTS = splitWords(`
  window self top parent frames globalthis this document location history navigator console string object
  array function reflect json math localstorage sessionstorage opener name eval alert import x a
`);
/** Links of ordinary pages: `javascript:void(0)`, `javascript:history.back()`, `javascript:menu.open('file')`. */
const ordinaryLink: Matcher = choice(
  seq(lit("void"), ows, opt(lit("(")), ows, lit("0"), opt(lit(")")), opt(lit(";")), choice(quote, end)),
  seq(lit("history."), keyword(["back", "go"]), lit("("), opt(lit("-1")), lit(")")),
  lit("window.print()"),
  seq(
    not(keyword(BROWSER_OBJECTS)),
    identifier,
    times(1, 4, seq(lit("."), identifier)),
    lit("("),
    choice(quote, lit(")")),
  ),
);
const memberChain = seq(identifier, times(0, 5, seq(times(1, 2, oneOf(".?")), identifier)));
const scriptCode: Matcher = seq(
  ows,
  not(ordinaryLink),
  choice(
    seq(memberChain, ows, choice(oneOf("(`["), seq(lit("="), not(lit("="))), lit(":"))),
    oneOf("([!+-~{"),
    seq(quote, not(choice(run(WHITESPACE, 1, 1), end, oneOf(",.;:)]>")))),
    lit("//"),
    lit("/*"),
    lit("\\"),
    seq(lit("%"), digits),
  ),
);

const SCRIPT_URL: PatternConditions = {
  catches: "a script URL with code",
  finds: [
    "javascript:go()",
    "java\nscript: go ( 1 )",
    "vbscript:msgbox(1)",
    "livescript:go()",
    "jscript:x=1",
    "javascript:a?.b`x`",
    "javascript:a:b",
    "javascript:(1)",
    "javascript:'x'",
    "javascript://x%0ago()",
    "javascript:/*x*/1",
    "javascript:\\u0061",
    "javascript:%2561",
    "javascript:alert.x('y')",
    "javascript:void(open(1))",
    "javascript:history.x()",
    "javascript:window.x()",
  ],
  ignores: [
    '<a href="javascript:void(0)">',
    '<a href="javascript:void 0;">',
    '<a href="javascript:history.go(-1)">',
    '<a href="javascript:history.back()">',
    '<a href="javascript:window.print()">',
    "<form action=\"javascript:forms.photo.submit('edit')\">",
    '<a href="javascript:menu.open()">',
    "javascript:void(0)",
    "javascript:void(0);",
    "JavaScript: the language of the web",
    "typescript:go()",
    "myjavascript:go()",
    "javascript:x==1",
    "The `javascript:` scheme and 'javascript:'",
    "['javascript:', 'data:']",
    "a ? b : c(1)",
    "javascript:;",
  ],
  precededBy: charSet(0, "tT"),
  start: scriptScheme,
  after: scriptCode,
};
const SPLIT_SCHEME: PatternConditions = {
  catches: "a script URL whose scheme is split by whitespace",
  from: "relaxed",
  finds: ["j\na\nv\na\ns\nc\nr\ni\np\nt\n:\na", "javas cript:go()", "j a v a s c r i p t : x"],
  ignores: ["Java script: an introduction", "JavaScript : the language", "script: a b c"],
  precededBy: charSet(WHITESPACE, "tT"),
  start: splitScheme,
};
const IN_TAG: PatternConditions = {
  catches: "an attribute of a tag with a script URL",
  finds: [
    "<a href=javascript:x>",
    "<a href='javascript:x'>",
    '<a href="javascript:x">',
    "<a href=vbscript:x>",
  ],
  ignores: ['<a href="javascript:;">', '<a href="javascript:void(0)">', "x='javascript:y'"],
  before: inTag,
  after: seq(ows, not(ordinaryLink), not(oneOf(";'\""))),
};
const IN_STYLE: PatternConditions = {
  catches: "a script URL in a style",
  finds: [
    "url(javascript:x)",
    "url('javascript:x')",
    'url("javascript:x")',
    "url(vbscript:x)",
    "x:url(javascript",
  ],
  ignores: ["url(javascript.png)", "url('javascript-logo.svg')"],
  after: choice(lit(":"), end),
};
const DATA_URL: PatternConditions = {
  catches: "a data URL of a type that can run scripts",
  finds: [
    "data:text/html,x",
    "data:text/html;base64,PHA+",
    "data:image/svg xml;base64,PHN2Zz4=",
    "data:application/xml,x",
  ],
  ignores: ["data:image/png;base64,iVBORw0KGgo=", "data:text/html is blocked, they say"],
  after: skipTo(lit(","), 60, " >"),
};
const DATA_TYPES = splitWords(`
  text/html text/xml text/xhtml text/javascript text/vbscript image/svg+xml application/javascript
  application/x-javascript application/xml application/xhtml
`);

export function scriptUrlPatterns(id: string): Pattern[] {
  return [
    pattern(id, [":"], SCRIPT_URL),
    pattern(id, [":"], SPLIT_SCHEME),
    pattern(id, ["=javascript:", "='javascript:", '="javascript:', "=vbscript:"], IN_TAG),
    pattern(id, ["url(javascript", "url('javascript", 'url("javascript', "url(vbscript"], IN_STYLE),
    pattern(id, ["data:image/svg xml", ...DATA_TYPES.map((type) => `data:${type}`)], DATA_URL),
  ];
}
