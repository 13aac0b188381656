// Java patterns: starting processes, reflection, expression languages, JNDI lookups, and serialized gadget objects, also in
// Base64.
import { WORD } from "../char-classes.ts";
import { DOT } from "../char-codes.ts";
import { choice, exact, lit, not, oneOf, opt, run, seq, skipTo, times } from "../combinators.ts";
import { splitWords } from "../keyword-set.ts";
import { atWordStart, skipWhitespaceBack, wordBefore, type LookBehind } from "../look-behind.ts";
import { NO_MATCH, type Matcher } from "../matcher.ts";
import { unitAt } from "../normalized-text.ts";
import { pattern, type Pattern } from "../pattern.ts";
import { digits, end, identifier, ows, quote, wordBoundary } from "../tokens.ts";

/** Classes that deserialization attacks use as gadgets. Ordinary code does not call them directly. */
const GADGETS = splitWords(`
  clonetransformer forclosure instantiatefactory instantiatetransformer invokertransformer
  prototypeclonefactory prototypeserializationfactory whileclosure chainedtransformer constanttransformer
  templatesimpl annotationinvocationhandler
`);
const PACKAGES = splitWords(`
  java.lang java.io java.nio java.net javax.script javax.naming javax.management org.omg java.rmi sun.misc
`);
const GADGET_PACKAGES = splitWords(`
  com.opensymphony.xwork2 com.sun.rowset org.apache.commons.collections ognl.ognl
  org.springframework.context.support java.beans.xmldecoder com.sun.org.apache
`);

const call = seq(ows, lit("("));
const className: Matcher = run(WORD, 3, 40);
/** The magic bytes `AC ED 00 05` of a serialized object in Base64, at each of the three offsets modulo 3. */
const serializedObject: Matcher = choice(exact("rO0ABQ"), exact("rO0ABX"), exact("KztAAU"), exact("Cs7QAF"));

/** Matches if the trigger that ends here has exactly this case: triggers ignore case, but Base64 does not. */
function exactTrigger(text: string): Matcher {
  const matcher = exact(text);
  return (input, at) => matcher(input, at - text.length);
}

/** Words that precede a qualified name in declarations and prose. */
const NOT_IN_EXPRESSIONS = new Set(
  splitWords(`
  import static package using throws extends implements new the of class at by from in a thread
`),
);
/** Matches a qualified name in an expression, but not in `import java.io.File;` or in documentation. */
const notImported: LookBehind = (input, at) => {
  if (unitAt(input, at - 1) === DOT || atWordStart(input, at) < 0) return NO_MATCH;
  const position = skipWhitespaceBack(input, at);
  if (position === at) return at;
  return NOT_IN_EXPRESSIONS.has(wordBefore(input, position)) ? NO_MATCH : at;
};

/** Returns the Base64 of a name at each of the three offsets modulo 3: only the characters that depend on the name alone. */
function base64Forms(name: string): string[] {
  return [0, 1, 2].map((offset) => {
    const text = btoa("\0".repeat(offset) + name);
    const skipped = [0, 2, 3][offset] ?? 0;
    const kept = Math.floor(((offset + name.length) * 8) / 6);
    return text.slice(skipped, kept);
  });
}

const BASE64_NAMES = [
  "runtime",
  "processbuilder",
  ...GADGETS,
  "getproperty",
  "filewriter",
  "xmldecoder",
].flatMap(base64Forms);

export const JAVA: readonly Pattern[] = [
  pattern("java.runtime-exec", ["runtime"], {
    before: atWordStart,
    after: seq(
      wordBoundary,
      choice(
        seq(lit("."), choice(lit("getruntime"), lit("exec"), lit("load"))),
        seq(ows, lit("["), ows, quote),
      ),
    ),
  }),
  pattern("java.get-runtime", ["getruntime"], {
    before: atWordStart,
    after: seq(ows, choice(lit("("), seq(quote, ows, choice(lit(")"), lit(","))))),
  }),
  pattern("java.process-builder", ["processbuilder"], {
    before: atWordStart,
    after: seq(wordBoundary, choice(call, seq(lit("<"), ows, lit(">")), seq(lit("."), identifier))),
  }),
  pattern(
    "java.class-for-name",
    ["class.forname", "classloader.loadclass", "urlclassloader", "defineclass"],
    { before: atWordStart, after: call },
  ),
  pattern("java.reflection", ["getmethod", "getdeclaredmethod", "getclass()"], {
    before: atWordStart,
    after: choice(
      seq(call, ows, quote, choice(lit("exec"), lit("getruntime"), lit("invoke"))),
      seq(lit(".forname")),
      lit(".getclassloader"),
    ),
  }),
  pattern("java.script-engine", ["scriptenginemanager"], {
    before: atWordStart,
    after: choice(seq(call, ows, lit(")")), end, oneOf(")\"'")),
  }),
  pattern("java.qualified-name", PACKAGES, {
    before: notImported,
    after: seq(
      lit("."),
      (input, at) =>
        unitAt(input, at) >= 0x41 && unitAt(input, at) <= 0x5a ? className(input, at) : NO_MATCH,
      not(choice(seq(lit(":")), lit("exception"), seq(lit(";")))),
    ),
  }),
  pattern("java.gadget-package", GADGET_PACKAGES, { before: notImported }),
  pattern(
    "java.gadget",
    GADGETS.map((name) => `.${name}`),
  ),
  pattern("java.gadget", GADGETS, {
    before: atWordStart,
    after: seq(wordBoundary, choice(call, lit("."), lit('"'))),
  }),
  pattern("java.runtime-name", ["java."], {
    before: notImported,
    after: skipTo(choice(lit("runtime"), lit("processbuilder")), 40, " \n;\"'<>(),"),
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
      ows,
      lit(":"),
      ows,
      choice(
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
    after: choice(
      seq(
        choice(
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
        choice(lit("env:"), lit("sys:"), lit("java:"), lit("date:"), lit("main:"), lit("ctx:")),
        skipTo(choice(lit(":-"), lit("}")), 60, " \n"),
      ),
      seq(digits, lit("*"), digits, lit("}")),
      seq(lit("${"), choice(lit("::"), lit("lower"), lit("upper"), lit("env"), lit("sys"), lit("base64"))),
    ),
  }),
  pattern("java.serialised", ["ro0abq", "ro0abx", "kztaau", "cs7qaf"], {
    before: atWordStart,
    after: (input, at) => serializedObject(input, at - 6),
  }),
  ...BASE64_NAMES.map((text) =>
    pattern("java.base64-gadget", [text], {
      after: exactTrigger(text),
    }),
  ),
  pattern("java.server-page", ["<%@", "<jsp:", "<%!"], {
    after: seq(ows, identifier, opt(skipTo(oneOf(">"), 60))),
  }),
  pattern("java.upload", ["filename"], {
    before: atWordStart,
    after: seq(
      lit("="),
      quote,
      skipTo(
        seq(
          lit("."),
          ows,
          choice(
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
          choice(quote, lit("gif"), lit("jpg"), lit("png")),
        ),
        60,
        "\n",
      ),
    ),
  }),
];
