// Python that loads code or objects from data: deserializers, module loaders, native libraries, interpreters.
import { isInClass, WORD } from "../../char-classes.ts";
import { EQUALS, OPEN_PAREN } from "../../char-codes.ts";
import { choice, except, keyword, lit, not, oneOf, opt, seq, skipTo } from "../../combinators.ts";
import { splitWords } from "../../keyword-set.ts";
import { afterOneOf, atWordStart, wordBefore, type LookBehind } from "../../look-behind.ts";
import { NO_MATCH, type Matcher } from "../../matcher.ts";
import { unitAt } from "../../normalized-text.ts";
import { pattern, type Pattern } from "../../pattern.ts";
import { identifier, ows, quote, rws } from "../../tokens.ts";
import { call, UNQUALIFIED } from "../calls.ts";
import { endsText, startsText } from "../lone-text.ts";
import { dot } from "../member-access.ts";

/** Arguments of a call that ends the text. */
const loneArguments: Matcher = seq(call, not(lit(")")), skipTo(seq(lit(")"), endsText), 100, "\n;"));

const CONVERSIONS = new Set(["dict", "str", "repr"]);
const BODY_ARGUMENTS = new Set(["json", "data", "params", "content"]);
/** Matches in `json=dict(`: the argument of a request that is sent. */
const sentAsBody: LookBehind = (input, at) => {
  if (unitAt(input, at - 1) !== OPEN_PAREN) return NO_MATCH;
  const conversion = wordBefore(input, at - 1);
  const equals = at - 2 - conversion.length;
  if (!CONVERSIONS.has(conversion) || unitAt(input, equals) !== EQUALS) return NO_MATCH;
  const name = wordBefore(input, equals);
  return BODY_ARGUMENTS.has(name) && !isInClass(unitAt(input, equals - name.length - 1), WORD)
    ? equals - name.length
    : NO_MATCH;
};

export const LOADERS: readonly Pattern[] = [
  pattern("python.unpickle", ["pickle.load", "cpickle.load", "_pickle.load", "dill.load"], {
    catches: "a text that consists of a call that creates objects from data",
    finds: [
      "pickle.loads(blob)",
      "';cPickle.load(stream)#",
      "_pickle.loads(cookie)",
      "dill.load(open('session.bin', 'rb'))",
    ],
    ignores: [
      "state = pickle.loads(blob)",
      "pickle.load(stream)\nprint(1)",
      "pickle.loader(stream)",
      "pickle.loads()",
    ],
    guard: startsText,
    after: seq(opt(lit("s")), loneArguments),
  }),
  pattern("python.unpickle", ["marshal.loads"], {
    catches: "a code object loaded from data",
    finds: ["exec_it(marshal.loads(blob))", "marshal.loads ( raw[16:] )"],
    ignores: ["What does marshal.loads do?", "See marshal.loads().", "json.marshal.loads(x)"],
    precededBy: UNQUALIFIED,
    after: seq(call, not(lit(")"))),
  }),
  pattern("python.unpickle", ["py/reduce", "py/function"], {
    catches: "a JSON object that jsonpickle turns into a call",
    from: "relaxed",
    finds: ['{"py/reduce": [1]}', "{'py/function' : 'posix.listdir'}"],
    ignores: ['see "py/reduce"', "the file py/function.py", 'x/py/reduce": 1'],
    before: afterOneOf("'\""),
    after: seq(quote, ows, lit(":")),
  }),
  pattern("python.unsafe-yaml", ["unsafe_load", "unsafe_load_all"], {
    catches: "a YAML document that is loaded with any tags",
    finds: ["yaml.unsafe_load(body)", "yaml.unsafe_load_all ( body )"],
    ignores: ["Avoid yaml.unsafe_load.", "yaml.unsafe_load()", "unsafe_load(body)"],
    before: afterOneOf("."),
    after: seq(call, not(lit(")"))),
  }),
  pattern("python.unsafe-yaml", ["unsafeloader"], {
    catches: "a loader of YAML that accepts any tags",
    finds: ["yaml.load(body, Loader=yaml.UnsafeLoader)", "load(body, UnsafeLoader )"],
    ignores: ["from yaml import UnsafeLoader", "class MyUnsafeLoader):"],
    before: atWordStart,
    after: seq(ows, lit(")")),
  }),
  pattern(
    "python.module-loader",
    ["runpy.run_path", "runpy.run_module", "imp.load_source", "imp.load_module"],
    {
      catches: "a text that consists of a call that runs a file as a module",
      finds: [
        "runpy.run_path('plugins/job.py')",
        "';runpy.run_module(name)#",
        "imp.load_source('job', path)",
        "imp.load_module('job', f, path, kind)",
      ],
      ignores: [
        "result = runpy.run_path(path)",
        "imp.load_source(name, path)\nprint(name)",
        "runpy.run_path()",
      ],
      guard: startsText,
      after: loneArguments,
    },
  ),
  pattern("python.module-loader", [").load_module", ").loader.load_module", ").loader.exec_module"], {
    catches: "a module that is found and run in one expression",
    finds: [
      "SourceFileLoader('job', 'job.py').load_module()",
      "util.spec_from_file_location('job', path).loader.load_module()",
      "util.spec_from_file_location('job', path).loader.exec_module(job)",
    ],
    ignores: ["spec.loader.exec_module(job)", "f(x).load_modules()", "Use f(x).load_module here"],
    after: call,
  }),
  pattern("python.native-call", ["cdll"], {
    catches: "a command that is run with a function of a native library",
    from: "relaxed",
    finds: [
      "CDLL('libc.dylib').system(line)",
      "ctypes.cdll.LoadLibrary('libc.so').popen(line)",
      "ctypes.CDLL(None).execv(path, args)",
      "ctypes.CDLL(None).execve(path, args)",
    ],
    ignores: ["ctypes.CDLL('libm.so.6').cos(x)", "ctypes.CDLL(name)", "myCDLL(None).system(x)"],
    before: atWordStart,
    after: seq(
      opt(seq(dot, lit("loadlibrary"))),
      call,
      except("()\n", 0, 40),
      lit(")"),
      dot,
      keyword(["system", "popen", "execv", "execve"]),
      call,
    ),
  }),
  pattern("python.subprocess", ["create_subprocess_shell"], {
    catches: "a command that a shell interprets, started by asyncio",
    finds: ["await asyncio.create_subprocess_shell(line)", "create_subprocess_shell ( line )"],
    ignores: ["def create_subprocess_shell_runner(x)", "my_create_subprocess_shell(x)"],
    before: atWordStart,
    after: call,
  }),
  pattern("python.subprocess", ["create_subprocess_exec"], {
    catches: "a shell that asyncio starts",
    finds: [
      "asyncio.create_subprocess_exec('bash', '-c', line)",
      "create_subprocess_exec ( '/bin/sh', '-c', line)",
      "create_subprocess_exec('cmd', '/c', line)",
      "create_subprocess_exec('powershell', line)",
      "create_subprocess_exec('zsh', line)",
    ],
    ignores: ["asyncio.create_subprocess_exec('git', 'status')", "my_create_subprocess_exec('sh')"],
    before: atWordStart,
    after: seq(call, ows, quote, opt(lit("/bin/")), keyword(["sh", "bash", "zsh", "cmd", "powershell"])),
  }),
  pattern("python.interpreter", ["interactiveinterpreter", "interactiveconsole"], {
    catches: "a text that an interpreter object runs",
    finds: [
      "code.InteractiveInterpreter().runcode(source)",
      "InteractiveInterpreter(names).runsource(source)",
      "code.InteractiveConsole().push(line)",
    ],
    ignores: ["class Shell(InteractiveConsole):", "InteractiveConsole().interact()"],
    after: seq(call, except("()\n", 0, 40), lit(")"), dot, keyword(["runcode", "runsource", "push"]), call),
  }),
  pattern("python.alias", ["from os import", "from subprocess import"], {
    catches: "a function that runs commands, imported in the same line as it is used",
    from: "relaxed",
    finds: [
      "from os import popen; popen(line)",
      "from os import system as go ; go(line)",
      "from subprocess import getoutput;getoutput(line)",
    ],
    ignores: [
      "from os import system\nsystem_name = 1",
      "from os import path; print(path)",
      "xfrom os import popen;",
    ],
    before: atWordStart,
    after: seq(
      rws,
      keyword(
        splitWords(`system popen execl execv execve execvp posix_spawn startfile run call check_call check_output getoutput
        getstatusoutput`),
      ),
      opt(seq(rws, lit("as"), rws, identifier)),
      ows,
      lit(";"),
    ),
  }),
  pattern("python.builtins-item", ["sys.modules"], {
    catches: "a function of a module that gives access to the system, reached through the loaded modules",
    from: "relaxed",
    finds: [
      "sys.modules['os'].popen(line)",
      'sys.modules ["subprocess"] . call (line)',
      "sys.modules['builtins'].open(name)",
      "sys.modules['posix'].fork()",
      "sys.modules['__builtin__'].open(name)",
    ],
    ignores: [
      "sys.modules['os'] = fake",
      "sys.modules['app'].start()",
      "sys.modules['os'].path.join(a, b)",
      "mysys.modules['os'].popen(x)",
    ],
    before: atWordStart,
    after: seq(
      ows,
      lit("["),
      ows,
      quote,
      keyword(["os", "posix", "subprocess", "builtins", "__builtin__"]),
      quote,
      ows,
      lit("]"),
      dot,
      identifier,
      call,
    ),
  }),
  pattern("python.builtins-item", ["__builtins__"], {
    catches: "a builtin function that is looked up by a text",
    from: "relaxed",
    finds: [
      "__builtins__['exec'](line)",
      '__builtins__ [ "eval" ]',
      "__builtins__['__import__']('json')",
      "__builtins__['compile']",
      "__builtins__.__getattribute__('open')",
      "__builtins__.__dict__['open']",
    ],
    ignores: ["__builtins__['_'] = gettext", "__builtins__.open", "__builtins__.__dict__.keys()"],
    after: choice(
      seq(ows, lit("["), ows, quote, keyword(["exec", "eval", "compile", "__import__"]), quote),
      seq(dot, keyword(["__getattribute__", "__dict__"]), oneOf("(["), ows, quote),
    ),
  }),
  pattern("python.builtins-item", ["getattr"], {
    catches: "a function of a system module whose name is computed",
    from: "relaxed",
    finds: [
      "getattr(os, ''.join(parts))(line)",
      "getattr ( subprocess , 'nepop'[::-1])",
      "getattr(builtins, chr(101) + rest)",
      "getattr(__builtins__, chr(101) + rest)",
    ],
    ignores: ["getattr(os, name)", "getattr(self, ''.join(parts))", "mygetattr(os, ''.join(parts))"],
    before: atWordStart,
    after: seq(
      call,
      ows,
      keyword(["os", "subprocess", "builtins", "__builtins__"]),
      ows,
      lit(","),
      skipTo(choice(lit(".join("), lit("[::-1]"), lit("chr(")), 40, "\n"),
    ),
  }),
  pattern("python.environment", ["os.environ"], {
    catches: "all variables of the environment, sent to another host",
    finds: ["requests.put(address, json=dict(os.environ))", "post(address, data=str(os.environ ))"],
    ignores: ["env=dict(os.environ)", "json=dict(os.environ, name=1)", "json=dict(os.environ['A'])"],
    before: sentAsBody,
    after: seq(ows, lit(")")),
  }),
  pattern("python.remove-root", ["rmtree"], {
    catches: "the removal of the root or home directory",
    finds: ["shutil.rmtree('/')", 'rmtree ( "~/" )', "rmtree('~')"],
    ignores: ["shutil.rmtree('/tmp/build')", "rmtree(path)", "myrmtree('/')"],
    before: atWordStart,
    after: seq(call, ows, quote, oneOf("/~"), opt(lit("/")), quote),
  }),
  pattern("python.decorator", ["@exec", "@eval"], {
    catches: "a decorator that runs the result of another decorator as code",
    from: "relaxed",
    finds: ["@exec\n@input\nclass A: pass", "@eval @input\ndef f(): pass"],
    ignores: ["@exec_in_pool\n@cached", "Write to @exec on the forum", "team@exec @home"],
    before: atWordStart,
    after: seq(rws, lit("@"), identifier),
  }),
];
