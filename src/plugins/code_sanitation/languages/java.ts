// Java: processes started through Runtime and ProcessBuilder, reflection, expression languages, JNDI look-ups, and serialised
// gadgets, also in Base64.
import { WORD } from "../char-classes.ts";
import {
  any,
  atWordStart,
  blanks,
  blanksBack,
  digits,
  end,
  exact,
  identifier,
  lit,
  NO_MATCH,
  not,
  oneOf,
  opt,
  quote,
  run,
  seq,
  times,
  upTo,
  wordBack,
  wordEnd,
  type Before,
  words,
} from "../grammar.ts";
import { pattern, type Pattern } from "../pattern.ts";
import type { Rule } from "../rule.ts";
import { unitAt } from "../view.ts";

/** Classes of deserialisation gadgets; nobody calls a method of theirs by hand. */
const GADGETS = words(`
  clonetransformer forclosure instantiatefactory instantiatetransformer invokertransformer
  prototypeclonefactory prototypeserializationfactory whileclosure chainedtransformer constanttransformer
  templatesimpl annotationinvocationhandler
`);
const PACKAGES = words(`
  java.lang java.io java.nio java.net javax.script javax.naming javax.management org.omg java.rmi sun.misc
`);
const OWN = words(`
  com.opensymphony.xwork2 com.sun.rowset org.apache.commons.collections ognl.ognl
  org.springframework.context.support java.beans.xmldecoder com.sun.org.apache
`);

const call = seq(blanks, lit("("));
const className: Rule = run(WORD, 3, 40);
/** `AC ED 00 05`, which opens a serialised object, in Base64 at each of the three places. */
const serialised: Rule = any(exact("rO0ABQ"), exact("rO0ABX"), exact("KztAAU"), exact("Cs7QAF"));

/** The trigger that ends here stands with its own case: Base64 has two. */
function behind(text: string): Rule {
  const written = exact(text);
  return (view, at) => written(view, at - text.length);
}

/** A qualified name in an expression. `import java.io.File;` is a program's own, and so is its documentation. */
const notImported: Before = (view, at) => {
  if (unitAt(view, at - 1) === 0x2e || atWordStart(view, at) < 0) return NO_MATCH;
  const position = blanksBack(view, at);
  if (position === at) return at;
  const word = wordBack(view, position);
  return words(`
  import static package using throws extends implements new the of class at by from in a thread
`).includes(word)
    ? NO_MATCH
    : at;
};

/** Base64 of a name, at each of the three places it can have in a stream: the letters that depend on it alone. */
function base64Forms(name: string): string[] {
  return [0, 1, 2].map((offset) => {
    const text = btoa("\0".repeat(offset) + name);
    const skipped = [0, 2, 3][offset] ?? 0;
    const kept = Math.floor(((offset + name.length) * 8) / 6);
    return text.slice(skipped, kept);
  });
}

const ENCODED = ["runtime", "processbuilder", ...GADGETS, "getproperty", "filewriter", "xmldecoder"].flatMap(
  base64Forms,
);

export const JAVA: readonly Pattern[] = [
  pattern("java.runtime-exec", ["runtime"], {
    before: atWordStart,
    after: seq(
      wordEnd,
      any(
        seq(lit("."), any(lit("getruntime"), lit("exec"), lit("load"))),
        seq(blanks, lit("["), blanks, quote),
      ),
    ),
  }),
  pattern("java.get-runtime", ["getruntime"], {
    before: atWordStart,
    after: seq(blanks, any(lit("("), seq(quote, blanks, any(lit(")"), lit(","))))),
  }),
  pattern("java.process-builder", ["processbuilder"], {
    before: atWordStart,
    after: seq(wordEnd, any(call, seq(lit("<"), blanks, lit(">")), seq(lit("."), identifier))),
  }),
  pattern(
    "java.class-for-name",
    ["class.forname", "classloader.loadclass", "urlclassloader", "defineclass"],
    { before: atWordStart, after: call },
  ),
  pattern("java.reflection", ["getmethod", "getdeclaredmethod", "getclass()"], {
    before: atWordStart,
    after: any(
      seq(call, blanks, quote, any(lit("exec"), lit("getruntime"), lit("invoke"))),
      seq(lit(".forname")),
      lit(".getclassloader"),
    ),
  }),
  pattern("java.script-engine", ["scriptenginemanager"], {
    before: atWordStart,
    after: any(seq(call, blanks, lit(")")), end, oneOf(")\"'")),
  }),
  pattern("java.qualified-name", PACKAGES, {
    before: notImported,
    after: seq(
      lit("."),
      (view, at) => (unitAt(view, at) >= 0x41 && unitAt(view, at) <= 0x5a ? className(view, at) : NO_MATCH),
      not(any(seq(lit(":")), lit("exception"), seq(lit(";")))),
    ),
  }),
  pattern("java.gadget-package", OWN, { before: notImported }),
  pattern(
    "java.gadget",
    GADGETS.map((name) => `.${name}`),
  ),
  pattern("java.gadget", GADGETS, {
    before: atWordStart,
    after: seq(wordEnd, any(call, lit("."), lit('"'))),
  }),
  pattern("java.runtime-name", ["java."], {
    before: notImported,
    after: upTo(any(lit("runtime"), lit("processbuilder")), 40, " \n;\"'<>(),"),
  }),
  pattern("java.expression", [
    "#_memberaccess",
    "@java.lang",
    "#context[",
    "t(java.",
    "%{(#",
    "${(#",
    "#{t(",
    "*{t(",
    "#rt=",
    "@ognl.",
    "#attr[",
    "#parameters[",
    "allowstaticmethodaccess",
    "xwork.methodaccessor",
  ]),
  pattern("java.jndi", ["jndi"], {
    before: atWordStart,
    after: seq(
      blanks,
      lit(":"),
      blanks,
      any(
        lit("ldap"),
        lit("rmi"),
        lit("dns"),
        lit("iiop"),
        lit("corba"),
        lit("nis"),
        lit("nds"),
        lit("http"),
        lit("$"),
      ),
    ),
  }),
  pattern("java.lookup", ["${"], {
    after: any(
      seq(
        any(
          lit("jndi"),
          lit("::-"),
          lit("lower:"),
          lit("upper:"),
          lit("base64:"),
          lit("script:"),
          lit("url:"),
        ),
        times(0, 20, oneOf("abcdefghijklmnopqrstuvwxyz:$-/")),
      ),
      seq(
        any(lit("env:"), lit("sys:"), lit("java:"), lit("date:"), lit("main:"), lit("ctx:")),
        upTo(any(lit(":-"), lit("}")), 60, " \n"),
      ),
      seq(digits, lit("*"), digits, lit("}")),
      seq(lit("${"), any(lit("::"), lit("lower"), lit("upper"), lit("env"), lit("sys"), lit("base64"))),
    ),
  }),
  pattern("java.serialised", ["ro0abq", "ro0abx", "kztaau", "cs7qaf"], {
    before: atWordStart,
    after: (view, at) => serialised(view, at - 6),
  }),
  ...ENCODED.map((text) =>
    pattern("java.base64-gadget", [text], {
      after: behind(text),
    }),
  ),
  pattern("java.server-page", ["<%@", "<jsp:", "<%!"], {
    after: seq(blanks, identifier, opt(upTo(oneOf(">"), 60))),
  }),
  pattern("java.upload", ["filename"], {
    before: atWordStart,
    after: seq(
      lit("="),
      quote,
      upTo(
        seq(
          lit("."),
          blanks,
          any(
            lit("jspx"),
            lit("jsp"),
            lit("phtml"),
            lit("phps"),
            lit("php"),
            lit("asp"),
            lit("war"),
            lit("htaccess"),
          ),
          run(WORD, 0, 2),
          times(0, 3, oneOf(" ./")),
          any(quote, lit("gif"), lit("jpg"), lit("png")),
        ),
        60,
        "\n",
      ),
    ),
  }),
];
