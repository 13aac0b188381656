// Java that starts processes, and the ways to reach these classes: reflection, script engines.
import { uploadedName } from "../uploaded-name.ts";
import { NOT_WORD } from "../../char-set.ts";
import { choice, keyword, lit, not, oneOf, opt, seq, skipTo } from "../../combinators.ts";
import { atWordStart } from "../../look-behind.ts";
import type { Matcher } from "../../matcher.ts";
import { pattern, type Pattern } from "../../pattern.ts";
import { end, identifier, ows, quote } from "../../tokens.ts";
import { dot } from "../member-access.ts";

const call = seq(ows, lit("("));
const emptyCall = seq(call, ows, lit(")"));
/** Methods of Runtime that run commands or load libraries; ordinary code calls availableProcessors and similar. */
const runtimeMethod: Matcher = keyword(["exec", "load", "loadlibrary"]);
/** The first argument of a process that is started from texts. */
const commandArgument: Matcher = seq(
  ows,
  choice(
    quote,
    lit(")"),
    seq(lit("new"), ows, lit("string")),
    seq(lit("{"), ows, quote),
    seq(opt(lit("java.util.")), keyword(["arrays", "list"]), dot, identifier, call, ows, quote),
    skipTo(seq(lit(")"), dot, lit("start"), call), 60, ";\n"),
  ),
);

export const PROCESSES: readonly Pattern[] = [
  pattern("java.runtime-exec", ["runtime"], {
    catches: "a process started with Runtime",
    finds: [
      "Runtime.exec()",
      'Runtime.getRuntime().exec("ls")',
      "Runtime . getRuntime ( ) . exec ( cmd )",
      "java.lang.Runtime.getRuntime().load(x)",
      "Runtime['getRuntime']",
      "Runtime.getRuntime",
    ],
    ignores: [
      "int cores = Runtime.getRuntime().availableProcessors();",
      "Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory()",
      "myRuntime.exec(x)",
      "The runtime. Exec (short) is next",
      "runtime.executor",
      "Which runtime.load( is it",
      "\tat java.lang.Runtime.exec(Runtime.java:620)",
    ],
    before: atWordStart,
    after: choice(
      seq(dot, lit("getruntime"), choice(seq(emptyCall, dot, runtimeMethod), end)),
      // Not a frame of a stack trace: `Runtime.exec(Runtime.java:592)`.
      seq(dot, keyword(["exec"]), call, not(lit("runtime.java"))),
      seq(ows, lit("["), ows, quote),
    ),
  }),
  pattern("java.get-runtime", ["getruntime"], {
    catches: "a process started with the runtime that a call returns, or its method looked up by name",
    finds: [
      "rt.getRuntime().exec(x)",
      "rt.getRuntime().loadLibrary(x)",
      "x.getRuntime ( ) . exec(y)",
      "getMethod('getRuntime')",
      'getMethod("getRuntime", null)',
    ],
    ignores: [
      "container.getRuntime()",
      "getRuntime().gc()",
      "forgetRuntime().exec(x)",
      "the getRuntime method",
    ],
    before: atWordStart,
    after: choice(seq(emptyCall, dot, runtimeMethod), seq(quote, ows, oneOf("),"))),
  }),
  pattern("java.process-builder", ["processbuilder"], {
    catches: "a process builder with a command",
    finds: [
      'new ProcessBuilder("id")',
      "new ProcessBuilder ( new String[]{c} )",
      "new ProcessBuilder()",
      'new ProcessBuilder(Arrays.asList("sh"))',
      'new ProcessBuilder(List.of("sh"))',
      'new ProcessBuilder(java.util.List.of("sh"))',
      "new ProcessBuilder({'sh', '-c', x})",
      "new ProcessBuilder(command).start()",
      "ProcessBuilder.evil",
      "ProcessBuilder<>",
    ],
    ignores: [
      "ProcessBuilder builder = new ProcessBuilder(command);",
      "builder.redirectOutput(ProcessBuilder.Redirect.INHERIT)",
      "myProcessBuilder('x')",
      "\tat java.base/java.lang.ProcessBuilder.start(ProcessBuilder.java:1110)",
      "See ProcessBuilder.java",
      "ProcessBuilders('x')",
    ],
    before: atWordStart,
    after: choice(
      seq(call, commandArgument),
      seq(lit("<"), ows, lit(">")),
      // Not the frame of a stack trace: `ProcessBuilder.start(ProcessBuilder.java:1143)`.
      seq(dot, not(keyword(["redirect", "java"])), not(lit("start(processbuilder.java")), identifier),
    ),
  }),
  pattern("java.class-for-name", ["class", "classloader"], {
    catches: "a class loaded by its name; JDBC drivers are ordinary",
    finds: [
      'Class.forName("x.Y")',
      "Class . forName ( 'java.lang.Runtime' )",
      'ClassLoader.loadClass("x.Y")',
    ],
    ignores: [
      'Class.forName("com.mysql.cj.jdbc.Driver");',
      'Class.forName("org.postgresql.Driver");',
      'Class.forName("org.sqlite.JDBC");',
      "Class.forName(className)",
      "MyClass.forName('x')",
      "Your class. ForName ( x )",
      "Class.forNames('x')",
    ],
    precededBy: NOT_WORD,
    after: seq(
      dot,
      keyword(["forname", "loadclass"]),
      call,
      ows,
      quote,
      not(skipTo(choice(lit("driver"), lit("jdbc")), 60, "\"'")),
    ),
  }),
  pattern("java.class-loader", ["urlclassloader", "defineclass"], {
    catches: "a class loaded from another host or from bytes",
    finds: ["new URLClassLoader(urls)", "loader . defineClass ( name, bytes"],
    ignores: ["import java.net.URLClassLoader;", "myURLClassLoader(x)", "defineClassName(x)"],
    before: atWordStart,
    after: call,
  }),
  pattern("java.reflection", ["getmethod", "getdeclaredmethod"], {
    catches: "a method that runs a command, looked up by its name",
    from: "relaxed",
    finds: ['getMethod("exec", x)', "getDeclaredMethod ( 'getRuntime' )", 'getMethod("invoke")'],
    ignores: ['getMethod("getName")', "forgetMethod('exec')", "getMethod('executor')"],
    before: atWordStart,
    after: seq(call, ows, quote, keyword(["exec", "getruntime", "invoke"])),
  }),
  pattern("java.reflection", ["getclass"], {
    catches: "a class loaded through the class of any object",
    from: "relaxed",
    finds: ["''.getClass().forName('x')", "x . getClass ( ) . getClassLoader().loadClass(y)"],
    ignores: [
      "x.getClass().getName()",
      'this.getClass().getClassLoader().getResource("a.txt")',
      "forgetClass().forName(x)",
    ],
    before: atWordStart,
    after: seq(
      emptyCall,
      dot,
      choice(keyword(["forname"]), seq(lit("getclassloader"), emptyCall, dot, keyword(["loadclass"]))),
    ),
  }),
  pattern("java.script-engine", ["scriptenginemanager"], {
    catches: "a script engine that runs a text",
    finds: [
      "new ScriptEngineManager().getEngineByName('js').eval(x)",
      'new javax.script.ScriptEngineManager ( ) . getEngineByName ( "js" ) . eval(x)',
    ],
    ignores: [
      "ScriptEngineManager manager = new ScriptEngineManager();",
      "MyScriptEngineManager().x().eval(x)",
      "ScriptEngineManager().getEngineByName('js')\neval",
    ],
    before: atWordStart,
    after: seq(emptyCall, skipTo(seq(dot, lit("eval"), call), 60, ";\n")),
  }),
  pattern("java.upload", ["filename"], {
    catches: "an uploaded file that a Java server runs",
    finds: [
      'filename="x.jsp"',
      'filename="x.jsp.jpg"',
      'filename="x.jsp/.png"',
      "filename='x.jspx '",
      'filename="x. war"',
      "filename='x.asp.gif'",
    ],
    ignores: ['filename="x.png"', 'myfilename="x.jsp"', "filename = 'x.jsp'", 'filename="jsp notes.txt"'],
    before: atWordStart,
    after: uploadedName(keyword(["jspx", "jsp", "war", "asp"])),
  }),
];
