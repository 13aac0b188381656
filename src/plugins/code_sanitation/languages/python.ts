// Python: code compiled and run from text, modules imported by name, commands, unpickling, and the attribute walks and
// templates that lead there.
import {
  any,
  atWordStart,
  blanks,
  digits,
  end,
  except,
  identifier,
  lit,
  oneOf,
  opt,
  quote,
  seq,
  times,
  upTo,
  wordEnd,
  words,
} from "../grammar.ts";
import { pattern, type Pattern } from "../pattern.ts";
import { call, calledOn, callPatterns, UNQUALIFIED } from "./calls.ts";

const OS_CALLS = words(`
  system popen execl execle execlp execv execve execvp spawnl spawnv spawnvp posix_spawn startfile fork
  setuid unlink rmdir removedirs chmod chown
`);
const SUBPROCESS_CALLS = words(`
  popen call run check_call check_output getoutput getstatusoutput
`);
const DUNDERS = words(`
  __class__ __mro__ __subclasses__ __globals__ __builtins__ __bases__ __base__ __code__ __reduce__
  __getattribute__ __loader__
`);
const method = (names: readonly string[]) => any(...names.map((name) => seq(lit(name), wordEnd, call)));

export const PYTHON: readonly Pattern[] = [
  ...callPatterns("python.eval", ["eval", "exec", "execfile"], ["builtins", "__builtins__", "__builtin__"]),
  pattern("python.compile", ["compile"], {
    before: calledOn(["builtins", "__builtins__"]),
    after: seq(
      lit("("),
      blanks,
      any(quote, seq(lit(")"), end), seq(except("(),\n", 1, 60), lit(","), blanks, quote)),
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
  pattern("python.os-command", ["os.", "posix.", "nt."], { prev: UNQUALIFIED, after: method(OS_CALLS) }),
  pattern("python.subprocess", ["subprocess.", "commands.", "popen2."], {
    prev: UNQUALIFIED,
    after: method(SUBPROCESS_CALLS),
  }),
  pattern(
    "python.pty",
    words(`
  pty.spawn os.dup2 ctypes.cdll ctypes.windll code.interact webbrowser.open socket.socket
`).slice(0, 5),
    { prev: UNQUALIFIED, after: any(call, lit(".")) },
  ),
  pattern(
    "python.unpickle",
    words(`
    pickle cpickle marshal dill jsonpickle shelve
  `),
    {
      prev: UNQUALIFIED,
      after: seq(
        lit("."),
        any(lit("loads"), lit("decode"), lit("open")),
        wordEnd,
        call,
        blanks,
        any(quote, lit("b'"), lit('b"'), lit("base64"), lit("request")),
      ),
    },
  ),
  pattern("python.unsafe-yaml", ["!!python/"], { after: identifier }),
  pattern("python.attribute-walk", DUNDERS, {
    before: (view, at) => (".['\"|(".includes(String.fromCharCode(view.codes[at - 1] ?? 0x20)) ? at : -1),
    after: any(
      oneOf("[("),
      seq(lit("."), lit("__")),
      seq(opt(quote), blanks, any(lit("]["), lit("]("), lit(")"), lit("]."))),
    ),
  }),
  pattern("python.builtins-item", ["globals()", "locals()", "vars()", "getattr("], {
    before: atWordStart,
    after: any(
      seq(lit("["), quote),
      seq(any(lit("__"), seq(identifier, blanks, lit(","), blanks, quote, lit("__")))),
    ),
  }),
  pattern("python.template", ["{{", "{%"], {
    after: seq(
      blanks,
      any(
        seq(digits, blanks, lit("*"), blanks, opt(quote), digits),
        seq(
          any(
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
          upTo(any(lit("__"), lit("items"), lit("application"), lit("from_object")), 40, "}"),
        ),
        seq(lit("import"), blanks, lit("os")),
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
      any(lit("/etc/"), lit("/proc/"), lit("/root/"), lit("../../"), lit("c:\\windows")),
    ),
  }),
];
