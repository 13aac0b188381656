// Java that turns data into objects or code: deserialization of a request, expression parsers, Groovy, JNDI lookups, native libraries.
import { SLASH } from "../../char-codes.ts";
import { choice, keyword, lit, opt, seq, skipTo } from "../../combinators.ts";
import { splitWords } from "../../keyword-set.ts";
import { afterOneOfAndOws, atWordStart, type LookBehind } from "../../look-behind.ts";
import { NO_MATCH, type Matcher } from "../../matcher.ts";
import { unitAt } from "../../normalized-text.ts";
import { pattern, type Pattern } from "../../pattern.ts";
import { ows, quote } from "../../tokens.ts";
import { stepsToRead } from "../../work-budget.ts";
import { dot } from "../member-access.ts";
import { anyCommand } from "../shell-grammar.ts";

const call = seq(ows, lit("("));
/** Data that a client sends, as servlets and Groovy scripts name it. */
const requestData: Matcher = seq(keyword(splitWords(`request req cookie params exchange`)), dot);
const remoteAddress: Matcher = seq(quote, keyword(splitWords(`ldap ldaps rmi iiop dns`)), lit("://"));

const COMMAND_LENGTH = 80;
/** Matches at the quote that ends a text if the text starts with the name of a command. */
const afterCommandText: LookBehind = (input, at) => {
  const quoteUnit = unitAt(input, at);
  let start = at;
  while (start > 0 && at - start < COMMAND_LENGTH && unitAt(input, start - 1) !== quoteUnit) start--;
  input.work.steps += stepsToRead(at - start);
  if (unitAt(input, start - 1) !== quoteUnit) return NO_MATCH;
  return anyCommand(input, start) > 0 || unitAt(input, start) === SLASH ? start - 1 : NO_MATCH;
};

export const DATA: readonly Pattern[] = [
  pattern("java.deserialise", ["objectinputstream"], {
    catches: "an object read from data of a request",
    finds: [
      "new ObjectInputStream(request.getInputStream()).readObject()",
      "new ObjectInputStream(new GZIPInputStream(req.body()))",
      "new ObjectInputStream(in(decode(cookie.getValue())))",
      "new ObjectInputStream(params.file)",
      "new ObjectInputStream ( exchange.getRequestBody())",
    ],
    ignores: [
      "new ObjectInputStream(socket.getInputStream())",
      "import java.io.ObjectInputStream;",
      "MyObjectInputStream(request.x)",
    ],
    before: atWordStart,
    after: seq(call, skipTo(requestData, 80, ";\n")),
  }),
  pattern("java.deserialise", ["xmldecoder", "fromxml"], {
    catches: "an object read from XML that may create any class",
    finds: [
      "XMLDecoder d = new XMLDecoder(in);\nd.readObject();",
      "xstream.fromXML(request.getReader())",
      "new XMLDecoder ( x ).readObject()",
    ],
    ignores: ["new XMLDecoder(in)", "xstream.fromXML(file)", "MyXMLDecoder(x).readObject()"],
    before: atWordStart,
    after: seq(call, ows, choice(requestData, skipTo(seq(dot, lit("readobject"), call), 80))),
  }),
  pattern("java.script-engine", ["getenginebyname"], {
    catches: "a script engine that runs data of a request",
    finds: ['e = m.getEngineByName("js");\ne.eval(request.getParameter("x"))'],
    ignores: ['e = m.getEngineByName("js");\ne.eval("1 + 2")', "forgetEngineByName('x').eval(req.x)"],
    before: atWordStart,
    after: seq(call, skipTo(seq(dot, lit("eval"), call, requestData), 80)),
  }),
  pattern("java.groovy", ["groovyshell", "groovyclassloader"], {
    catches: "a Groovy script that is run from a text",
    finds: [
      "new GroovyShell().evaluate(x)",
      "GroovyShell s = new GroovyShell(b);\ns.evaluate(x)",
      "new GroovyClassLoader().parseClass(x)",
      "new GroovyShell().run(x)",
    ],
    ignores: ["import groovy.lang.GroovyShell;", "new GroovyShell(binding)", "MyGroovyShell().evaluate(x)"],
    before: atWordStart,
    after: seq(call, skipTo(seq(dot, keyword(splitWords(`evaluate parseclass run`)), call), 80)),
  }),
  pattern("java.groovy", ['".execute()', "'.execute()"], {
    catches: "a text that Groovy runs as a command",
    finds: ['"uname -a".execute().text', "p = 'id'.execute()"],
    ignores: ["query.execute()", "Call '.execute()' last."],
    before: afterCommandText,
  }),
  pattern("java.jndi-lookup", ["lookup"], {
    catches: "a JNDI lookup of an address on another host or of data of a request",
    finds: [
      ...splitWords(`ldap ldaps rmi iiop dns`).map((scheme) => `ctx.lookup("${scheme}://192.0.2.1/x")`),
      "new InitialContext().lookup ( request.getParameter(x) )",
    ],
    ignores: [
      'ctx.lookup("java:comp/env/jdbc/db")',
      "lookup('ldap://192.0.2.1/x')",
      "ctx.lookups('ldap://x')",
    ],
    before: afterOneOfAndOws("."),
    after: seq(call, ows, choice(remoteAddress, requestData)),
  }),
  pattern("java.spel", ["spelexpressionparser"], {
    catches: "a SpEL expression from a variable that is evaluated",
    finds: ["new SpelExpressionParser().parseExpression(x).getValue()"],
    ignores: [
      "new SpelExpressionParser().parseExpression(\"'a'.length()\").getValue()",
      "MySpelExpressionParser().parseExpression(x).getValue()",
      "new SpelExpressionParser()",
    ],
    before: atWordStart,
    after: seq(
      call,
      ows,
      lit(")"),
      dot,
      lit("parseexpression"),
      call,
      skipTo(seq(lit(")"), dot, lit("getvalue"), call), 60, "\"'\n;"),
    ),
  }),
  pattern("java.freemarker", ["freemarker.template.utility."], {
    catches: "a class that lets a FreeMarker template run commands",
    from: "relaxed",
    finds: [
      '"freemarker.template.utility.Execute"?new()',
      '"freemarker.template.utility.ObjectConstructor"?new()',
      '"freemarker.template.utility.JythonRuntime"?new()',
    ],
    ignores: ["import freemarker.template.utility.Execute;", '"freemarker.template.utility.DateUtil"?x'],
    after: seq(keyword(splitWords(`execute objectconstructor jythonruntime`)), quote),
  }),
  pattern("java.yaml-object", ["!!java"], {
    catches: "a YAML tag that creates a Java object which loads code",
    from: "relaxed",
    finds: ["!!javax.script.ScriptEngineManager []", '!!java.net.URL ["http://192.0.2.1/"]'],
    ignores: ["!!java.util.Date 2020", "!!javascript"],
    after: choice(lit("x.script."), lit(".net.")),
  }),
  pattern("java.class-loader", ["class.module.classloader", "class.classloader."], {
    catches: "a form field that sets a property of the class loader",
    from: "relaxed",
    finds: ["class.module.classLoader.resources.x=1", "class.classLoader.urls[0]=x"],
    ignores: ["module.classLoader", "MyClass.classLoader.x"],
    before: atWordStart,
  }),
  pattern("java.class-loader", ["defineanonymousclass"], {
    catches: "a class made from bytes",
    finds: ["unsafe.defineAnonymousClass(x, code, null)"],
    ignores: ["the defineAnonymousClass method", "redefineAnonymousClass(x)"],
    before: atWordStart,
    after: call,
  }),
  pattern("java.native-library", ["system.load"], {
    catches:
      "a native library loaded from a directory that every user can write to, or from a parent directory",
    finds: ['System.load("/tmp/x.so")', "System.loadLibrary ( '../x' )", 'System.load("/dev/shm/x.so")'],
    ignores: ['System.loadLibrary("opencv_java")', "MySystem.load('/tmp/x')", 'System.load("/opt/app/x.so")'],
    before: atWordStart,
    after: seq(opt(lit("library")), call, ows, quote, choice(lit("/tmp/"), lit("/dev/shm/"), lit("../"))),
  }),
];
