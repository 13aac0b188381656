// Names of Java classes that a text has no other reason to contain: gadgets of deserialization attacks, and texts that consist
// of the name of a class.
import { isInClass, QUOTE, WORD } from "../../char-classes.ts";
import { DOT, GREATER, SLASH } from "../../char-codes.ts";
import { choice, keyword, lit, not, oneOf, run, seq, skipTo } from "../../combinators.ts";
import { splitWords } from "../../keyword-set.ts";
import { atWordStart, skipWhitespaceBack, wordBefore, type LookBehind } from "../../look-behind.ts";
import { NO_MATCH, type Matcher } from "../../matcher.ts";
import { unitAt } from "../../normalized-text.ts";
import { pattern, type Pattern } from "../../pattern.ts";
import { ows, wordBoundary } from "../../tokens.ts";
import { endsText, startsText } from "../lone-text.ts";

/** Classes that deserialization attacks use as gadgets. Ordinary code does not call them directly. */
export const GADGETS = splitWords(`
  clonetransformer forclosure instantiatefactory instantiatetransformer invokertransformer
  prototypeclonefactory prototypeserializationfactory whileclosure chainedtransformer constanttransformer
  templatesimpl annotationinvocationhandler
`);
const PACKAGES = splitWords(`
  java.lang java.io java.nio java.net javax.script javax.naming javax.management org.omg java.rmi sun.misc sun.reflect
`);
const GADGET_PACKAGES = splitWords(`
  com.opensymphony.xwork2 com.sun.rowset org.apache.commons.collections ognl.ognl
  org.springframework.context.support java.beans.xmldecoder com.sun.org.apache
`);

/** Words that precede a qualified name in declarations and prose. */
const NOT_IN_EXPRESSIONS = new Set(
  splitWords(`
  import static package using throws extends implements new the of class at by from in a thread
`),
);
/** Matches a qualified name in an expression, but not in `import java.io.File;` or in documentation. */
const notImported: LookBehind = (input, at) => {
  const before = unitAt(input, at - 1);
  // `java.base/java.lang.Runtime`: a frame of a stack trace names the module.
  if (before === DOT || before === SLASH || atWordStart(input, at) < 0) return NO_MATCH;
  const position = skipWhitespaceBack(input, at);
  if (position === at) return at;
  return NOT_IN_EXPRESSIONS.has(wordBefore(input, position)) ? NO_MATCH : at;
};

/** Matches at the start of a text, of a quoted text and of the content of an element. */
const startsValue: LookBehind = (input, at) => {
  const before = unitAt(input, at - 1);
  return isInClass(before, QUOTE) || before === GREATER ? at : startsText(input, at);
};

const FIRST_UPPER_CASE = 0x41;
const LAST_UPPER_CASE = 0x5a;
const anyClassName = run(WORD, 2, 40);
const className: Matcher = (input, at) => {
  const first = unitAt(input, at);
  return first >= FIRST_UPPER_CASE && first <= LAST_UPPER_CASE ? anyClassName(input, at) : NO_MATCH;
};
/** The end of a text, of a key of a JSON object, or of the content of an element. */
const endsValue: Matcher = choice(endsText, seq(oneOf("\"'"), ows, lit(":")), lit("</"));
/** Parts of names that only exceptions have: stack traces are ordinary. */
const exceptionName: Matcher = skipTo(choice(lit("exception"), lit("error")), 40, " \n:;.\"'<");

export const NAMES: readonly Pattern[] = [
  pattern("java.qualified-name", PACKAGES, {
    catches: "a value that consists of the name of a class",
    finds: ["java.io.Console", '{"java.lang.System": 1}', "<x>java.lang.Number</x>", "org.omg.Messaging"],
    ignores: [
      "import java.io.File;",
      "java.lang.NullPointerException\n\tat Main.main(Main.java:5)",
      "java.lang.NullPointerException",
      "java.lang.StackOverflowError",
      "Cannot cast java.lang.String to java.lang.Integer",
      "x java.lang.System",
      "java.io.File is a class",
      "java.lang.invoke",
    ],
    guard: startsValue,
    after: seq(lit("."), not(exceptionName), className, endsValue),
  }),
  pattern("java.runtime-name", ["java."], {
    catches: "a qualified name that ends in a class that starts processes",
    finds: ["y: java.lang.ProcessBuilder", "x = java.lang.Runtime", "java.x.runtime"],
    ignores: [
      "import java.lang.Runtime;",
      "java.util.List of runtime",
      "Openjava.lang.Runtime",
      "java.lang.RuntimeException",
      "x java.lang.Runtimes",
      "\tat java.base/java.lang.Runtime.exec(Runtime.java:592)",
    ],
    before: notImported,
    after: skipTo(keyword(["runtime", "processbuilder"]), 40, " \n;\"'<>(),"),
  }),
  pattern("java.gadget-package", GADGET_PACKAGES, {
    catches: "a package that deserialization attacks use",
    finds: [
      "com.opensymphony.xwork2.X",
      "x: com.sun.rowset.JdbcRowSetImpl",
      "ognl.OgnlContext",
      "org.apache.commons.collections.functors.X",
      "org.springframework.context.support.X",
      "java.beans.XMLDecoder",
      "com.sun.org.apache.xalan",
    ],
    ignores: [
      "import org.apache.commons.collections.ListUtils;",
      "mycom.sun.rowset",
      "extends com.sun.rowset.X",
    ],
    before: notImported,
  }),
  pattern(
    "java.gadget",
    GADGETS.map((name) => `.${name}`),
    {
      catches: "the qualified name of a gadget",
      from: "relaxed",
      finds: ["x.CloneTransformer", "x.functors.InvokerTransformer", "a.TemplatesImpl"],
      ignores: ["InvokerTransformer", "the TemplatesImpl class", "x.InvokerTransformers"],
      after: wordBoundary,
    },
  ),
  pattern("java.gadget", GADGETS, {
    catches: "a gadget that is called or named in a text",
    from: "relaxed",
    finds: ["new InvokerTransformer(x)", "ForClosure . x", '"ChainedTransformer"'],
    ignores: ["the InvokerTransformer class", "MyInvokerTransformer(x)", "WhileClosure is a class"],
    before: atWordStart,
    after: choice(seq(ows, oneOf("(.")), lit('"')),
  }),
];
