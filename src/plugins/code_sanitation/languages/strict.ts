// The constructs of the specification (section 2.8) wherever they occur, also in text that only mentions them. Used only by the
// sensitivity `strict`.
import { LETTER, WHITESPACE } from "../char-classes.ts";
import { charSet } from "../char-set.ts";
import { choice, except, exact, lit, opt, run, seq } from "../combinators.ts";
import { atWordStart } from "../look-behind.ts";
import { NO_MATCH } from "../matcher.ts";
import { pattern, type Pattern, type PatternConditions } from "../pattern.ts";
import type { Language } from "../settings.ts";
import { ows, quote, rws, wordBoundary } from "../tokens.ts";

type Texts = Required<Pick<PatternConditions, "catches" | "finds" | "ignores">>;

/** Text that must occur literally, in any case. */
function literal(id: string, triggers: readonly string[], conditions: Texts & PatternConditions): Pattern {
  return pattern(id, triggers, { ...conditions, from: "strict" });
}

const openCall = seq(ows, lit("("));

/** The name of a function and an opening parenthesis. */
function literalCall(id: string, names: readonly string[], texts: Texts): Pattern {
  return literal(id, names, { ...texts, before: atWordStart, after: openCall });
}

const functionName = exact("Function");

const JAVASCRIPT = [
  literalCall("js.literal-eval", ["eval"], {
    catches: "a mention of a call of eval",
    finds: ["Why is eval() slow?", "they wrote eval (text) somewhere"],
    ignores: ["The medieval(ish) castle", "Please eval the essay"],
  }),
  literal("js.literal-function", ["function"], {
    catches: "a mention of the Function constructor",
    finds: ["What does Function() return?", "see Function ('a', 'b')"],
    ignores: ["What does function() return?", "myFunction() runs", "The Function key"],
    before: (input, at) => (functionName(input, at) < 0 ? NO_MATCH : atWordStart(input, at)),
    after: openCall,
  }),
  literal("js.literal-timer", ["settimeout", "setinterval"], {
    catches: "a timer with a string",
    finds: ["Is setTimeout('x', 5) bad?", 'and setInterval( "x")'],
    ignores: ["Is setTimeout(run, 5) bad?"],
    after: seq(openCall, ows, quote),
  }),
  literal("js.literal-dom-write", ["innerhtml", "document.write"], {
    catches: "a mention of a property or method that writes markup",
    finds: ["Avoid innerHTML here.", "Avoid document.write here."],
    ignores: ["The inner HTML of the document; write it down."],
  }),
  literal("js.literal-listener", ["addeventlistener"], {
    catches: "an event listener, which may be a string",
    finds: ["Call addEventListener('load', 'go') first.", 'addEventListener ("x")'],
    ignores: ["Call addEventListener with a function.", "addEventListener(name, listener)"],
    after: seq(openCall, ows, quote),
  }),
];

const scriptTag = (id: string) =>
  literal(id, ["<script", "</script"], {
    catches: "a mention of a script tag",
    finds: ["Where does a <script> tag belong?", "It ends with </script> here."],
    ignores: ["Where does a <style> tag belong, and a script?"],
  });

const eventAttribute = (id: string) =>
  literal(id, ["on"], {
    catches: "a word that starts with `on` and an equals sign",
    finds: ["Set onclick=go in the form.", "the attribute onerror = x", "x/onload=go"],
    ignores: ["controlling=2", "Set on = 1", "Set online mode"],
    precededBy: charSet(WHITESPACE, "/\"'<"),
    after: seq(run(LETTER, 3, 24), ows, lit("=")),
  });

const PYTHON = [
  literalCall("python.literal-call", ["exec", "eval", "compile", "__import__"], {
    catches: "a mention of a call that runs or imports code",
    finds: ["Is exec() safe?", "Is eval (x) safe?", "Is compile() safe?", "Is __import__() safe?"],
    ignores: ["The methods recompile() and retrieval() are old", "They compile code"],
  }),
  literal("python.literal-process", ["os.system", "subprocess.popen"], {
    catches: "a mention of a function that starts a process",
    finds: ["What is os.system for?", "What is subprocess.Popen for?"],
    ignores: ["What is videos.system for?", "The OS. System calls."],
    before: atWordStart,
  }),
];

const PHP = [
  literalCall("php.literal-call", ["eval", "system"], {
    catches: "a mention of a call that runs code or a command",
    finds: ["Is eval() safe?", "Is system (x) safe?"],
    ignores: ["The ecosystem() is old", "The system is old, eval it"],
  }),
];

const SQL = [
  literal("sql.literal-union-select", ["union"], {
    catches: "the words UNION SELECT",
    finds: [
      "Explain union select please",
      "Explain UNION ALL SELECT please",
      "Explain union distinct select",
    ],
    ignores: ["The union may select a chair", "The reunion select committee", "The union selected a chair"],
    before: atWordStart,
    after: seq(rws, opt(seq(choice(lit("all"), lit("distinct")), rws)), lit("select"), wordBoundary),
  }),
  literal("sql.literal-drop-table", ["drop"], {
    catches: "the words DROP TABLE",
    finds: ["Explain drop table please"],
    ignores: ["Drop the table off", "A raindrop table", "Explain drop tablets"],
    before: atWordStart,
    after: seq(rws, lit("table"), wordBoundary),
  }),
];

/** What a path starts with that is not relative to the current directory by its name. */
const pathStart = choice(lit("/"), lit("./"), lit("../"), lit("~/"));

const SHELL = [
  literalCall("shell.literal-call", ["system", "exec"], {
    catches: "a mention of a call that runs a command",
    finds: ["Is system() safe?", "Is exec (x) safe?"],
    ignores: ["The ecosystem() is old", "The system is old, exec it"],
  }),
  literal("shell.literal-operator", ["&&", "||"], {
    catches: "an operator that chains commands",
    finds: ["What does a && b mean?", "What does a || b mean?"],
    ignores: ["R&D | sales"],
  }),
  literal("shell.literal-substitution", ["$(", "${"], {
    catches: "a command or parameter substitution",
    finds: ["What does $(x) mean?", "What does ${x} mean?"],
    ignores: ["It costs $5 (or less)"],
  }),
  literal("shell.literal-backticks", ["`"], {
    catches: "text between backticks",
    finds: ["What does `x` mean?"],
    ignores: ["What does ` mean?"],
    after: seq(except("`\n", 1, 200), lit("`")),
  }),
  literal("shell.literal-redirection", [">"], {
    catches: "a redirection to a path",
    finds: ["write > /x", "write >> /x", "write > ./x", "write > ../x", "write > ~/x"],
    ignores: ["a > b"],
    after: seq(ows, pathStart),
  }),
  literal("shell.literal-path", ["cd", "cat", "head", "tail", "less", "tee", "touch"], {
    catches: "a command that reads, writes or changes to a path",
    finds: ["cd /x", "cat ./x", "head ../x", "tail ~/x", "less /x", "tee /x", "touch /x", "cd .."],
    ignores: ["a cat and a dog", "abcd /x"],
    before: atWordStart,
    after: seq(rws, choice(pathStart, lit(".."))),
  }),
  literal("shell.literal-permissions", ["chmod", "chown"], {
    catches: "a mention of a command that changes permissions",
    finds: ["What does chmod do?", "What does chown do?"],
    ignores: ["What does lchown do?", "What does chmodder do?"],
    before: atWordStart,
    after: wordBoundary,
  }),
];

const JAVA = [
  literal("java.literal-runtime", ["runtime.exec", "runtime.getruntime"], {
    catches: "a mention of Runtime.exec",
    finds: ["What is Runtime.exec for?", "What is Runtime.getRuntime for?"],
    ignores: ["What is the runtime? Exec summary."],
  }),
];

const CSHARP = [
  literal("csharp.literal-process-start", ["process.start"], {
    catches: "a mention of Process.Start",
    finds: ["What is Process.Start for?"],
    ignores: ["What is process.startup for?", "What is subprocess.start for?"],
    before: atWordStart,
    after: wordBoundary,
  }),
];

const RUBY = [
  literalCall("ruby.literal-call", ["eval", "exec"], {
    catches: "a mention of a call that runs code or a command",
    finds: ["Is eval() safe?", "Is exec (x) safe?"],
    ignores: ["The retrieval() is old", "exec it"],
  }),
];

export const STRICT: Readonly<Record<Language, readonly Pattern[]>> = {
  javascript: [...JAVASCRIPT, scriptTag("js.literal-script"), eventAttribute("js.literal-event-attribute")],
  python: PYTHON,
  php: PHP,
  sql: SQL,
  shell: SHELL,
  java: JAVA,
  csharp: CSHARP,
  ruby: RUBY,
  html: [scriptTag("html.literal-script"), eventAttribute("html.literal-event-attribute")],
};
