// Python patterns: compiling and running code, importing modules by name, running commands, unpickling, and the attribute chains
// and templates that lead to these.
import { choice, except, lit, oneOf, opt, seq, skipTo, times } from "../combinators.ts";
import { splitWords } from "../keyword-set.ts";
import { afterOneOf, atWordStart } from "../look-behind.ts";
import { pattern, type Pattern } from "../pattern.ts";
import { digits, end, identifier, ows, quote, wordBoundary } from "../tokens.ts";
import { call, calledOn, callPatterns, UNQUALIFIED } from "./calls.ts";

const OS_CALLS = splitWords(`
  system popen execl execle execlp execv execve execvp spawnl spawnv spawnvp posix_spawn startfile fork
  setuid unlink rmdir removedirs chmod chown
`);
const SUBPROCESS_CALLS = splitWords(`
  popen call run check_call check_output getoutput getstatusoutput
`);
/** Attributes that lead from any object to code execution. */
const DUNDER_ATTRIBUTES = splitWords(`
  __class__ __mro__ __subclasses__ __globals__ __builtins__ __bases__ __base__ __code__ __reduce__
  __getattribute__ __loader__
`);
const callOf = (names: readonly string[]) =>
  choice(...names.map((name) => seq(lit(name), wordBoundary, call)));

export const PYTHON: readonly Pattern[] = [
  ...callPatterns("python.eval", ["eval", "exec", "execfile"], ["builtins", "__builtins__", "__builtin__"]),
  pattern("python.compile", ["compile"], {
    before: calledOn(["builtins", "__builtins__"]),
    after: seq(
      lit("("),
      ows,
      choice(quote, seq(lit(")"), end), seq(except("(),\n", 1, 60), lit(","), ows, quote)),
    ),
  }),
  pattern("python.import", ["__import__"], { before: atWordStart, after: call }),
  pattern(
    "python.import",
    [
      "importlib.import_module",
      "importlib.__import__",
      "imp.load_source",
      "runpy.run_path",
      "pkgutil.get_loader",
    ],
    { before: atWordStart, after: call },
  ),
  pattern("python.os-command", ["os.", "posix.", "nt."], {
    precededBy: UNQUALIFIED,
    after: callOf(OS_CALLS),
  }),
  pattern("python.subprocess", ["subprocess.", "commands.", "popen2."], {
    precededBy: UNQUALIFIED,
    after: callOf(SUBPROCESS_CALLS),
  }),
  pattern(
    "python.pty",
    splitWords(`
  pty.spawn os.dup2 ctypes.cdll ctypes.windll code.interact webbrowser.open socket.socket
`).slice(0, 5),
    { precededBy: UNQUALIFIED, after: choice(call, lit(".")) },
  ),
  pattern(
    "python.unpickle",
    splitWords(`
    pickle cpickle marshal dill jsonpickle shelve
  `),
    {
      precededBy: UNQUALIFIED,
      after: seq(
        lit("."),
        choice(lit("loads"), lit("decode"), lit("open")),
        wordBoundary,
        call,
        ows,
        choice(quote, lit("b'"), lit('b"'), lit("base64"), lit("request")),
      ),
    },
  ),
  pattern("python.unsafe-yaml", ["!!python/"], { after: identifier }),
  pattern("python.attribute-walk", DUNDER_ATTRIBUTES, {
    before: afterOneOf(".['\"|("),
    after: choice(
      oneOf("[("),
      seq(lit("."), lit("__")),
      seq(opt(quote), ows, choice(lit("]["), lit("]("), lit(")"), lit("]."))),
    ),
  }),
  pattern("python.builtins-item", ["globals()", "locals()", "vars()", "getattr("], {
    before: atWordStart,
    after: choice(
      seq(lit("["), quote),
      seq(choice(lit("__"), seq(identifier, ows, lit(","), ows, quote, lit("__")))),
    ),
  }),
  pattern("python.template", ["{{", "{%"], {
    after: seq(
      ows,
      choice(
        seq(digits, ows, lit("*"), ows, opt(quote), digits),
        seq(
          choice(
            lit("config"),
            lit("self"),
            lit("request"),
            lit("cycler"),
            lit("lipsum"),
            lit("joiner"),
            lit("''"),
            lit('""'),
            lit("()"),
            lit("[]"),
          ),
          times(1, 2, oneOf(".[|")),
          skipTo(choice(lit("__"), lit("items"), lit("application"), lit("from_object")), 40, "}"),
        ),
        seq(lit("import"), ows, lit("os")),
      ),
    ),
  }),
  pattern("python.one-liner", ["import os", "import subprocess", "import pty", "import socket"], {
    before: atWordStart,
    after: seq(times(0, 20, oneOf(",abcdefghijklmnopqrstuvwxyz ")), lit(";")),
  }),
  pattern("python.open-secret", ["open"], {
    before: calledOn(["builtins", "io"]),
    after: seq(
      call,
      quote,
      choice(lit("/etc/"), lit("/proc/"), lit("/root/"), lit("../../"), lit("c:\\windows")),
    ),
  }),
];
