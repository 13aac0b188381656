// Python calls that run code or commands, or load what runs code.
import { NOT_WORD } from "../../char-set.ts";
import { choice, except, keyword, lit, not, opt, peek, seq, skipTo, times } from "../../combinators.ts";
import { splitWords } from "../../keyword-set.ts";
import { atWordStart } from "../../look-behind.ts";
import { pattern, type Pattern } from "../../pattern.ts";
import { end, identifier, ows, quote } from "../../tokens.ts";
import { call, calledOn, callPatterns, UNQUALIFIED } from "../calls.ts";
import { dot, memberOf } from "../member-access.ts";

const BUILTINS = ["builtins", "__builtins__", "__builtin__", "__self__"];
const OS_CALLS = splitWords(`
  system popen execl execle execlp execlpe execv execve execvp execvpe spawnl spawnle spawnlp spawnv spawnve
  spawnvp posix_spawn startfile
`);
/** Modules that run commands or give access to the system. */
const SYSTEM_MODULES = splitWords(
  "os subprocess pty sys socket ctypes builtins commands posix platform shutil signal",
);

export const CALLS: readonly Pattern[] = [
  ...callPatterns("python.eval", ["eval", "exec", "execfile"], BUILTINS, {
    catches: "a call that runs a text as code",
    finds: [
      "exec()",
      "exec('x = 1')",
      "eval(input())",
      "builtins . exec ( code )",
      "__builtins__.eval(x)",
      "execfile('x.py')",
    ],
    ignores: [
      "Is it safe to use eval()?",
      "It waits while exec() only starts the job.",
      "def exec(self, command):",
      "cursor.execute('SELECT name FROM users')",
      "df.eval('a + b')",
      "pattern.exec(line)",
      "def run(): re.compile('x')",
    ],
  }),
  pattern("python.compile", ["compile"], {
    catches: "a call of compile with a text or with the name of a file and a mode",
    finds: [
      "compile('x')",
      "compile('1+1', 'x', 'eval')",
      "compile ( source, 'f', 'exec')",
      "compile()",
      "builtins.compile(\"x\", 'f', 'exec')",
    ],
    ignores: [
      "re.compile('[a-z]+')",
      "def compile(self, source):",
      "model.compile(optimizer='adam')",
      "compile(source)",
      "Does it compile() without warnings?",
      "recompile('x')",
    ],
    before: calledOn(BUILTINS),
    after: seq(
      call,
      ows,
      choice(quote, seq(lit(")"), end), seq(except("(),\n", 1, 60), lit(","), ows, quote)),
    ),
  }),
  pattern("python.import", ["__import__"], {
    catches: "a module imported by a call",
    finds: ["__import__('os')", "__import__ ( name )", "__import__ # x\n('os')", "builtins.__import__('os')"],
    ignores: ["What is __import__ for?", "my__import__('os')", "self.__import__('pkg')"],
    before: calledOn(BUILTINS),
    after: call,
  }),
  pattern("python.import", ["importlib"], {
    catches: "a module that gives access to the system, imported by name",
    finds: [
      "importlib.import_module('os')",
      'importlib . import_module ( "subprocess" )',
      "importlib.__import__('pty')",
    ],
    ignores: [
      "importlib.import_module('app.views')",
      "importlib.import_module(name)",
      "importlib.reload('os')",
      "myimportlib.import_module('os')",
    ],
    before: atWordStart,
    after: seq(dot, keyword(["import_module", "__import__"]), call, ows, quote, keyword(SYSTEM_MODULES)),
  }),
  pattern("python.os-command", OS_CALLS, {
    catches: "a call of the os module that runs a command",
    finds: [
      "os.system('id')",
      "os . system ( 'id' )",
      "os. popen('id')",
      "posix.system(c)",
      "nt.system(c)",
      "os/**/.execv('/bin/sh', a)",
    ],
    ignores: [
      "What does os.system do?",
      "See os.popen() for details.",
      "os.path.join(a, b)",
      "os.chmod(path, 0o644)",
      "macos.system(x)",
      "app.os.system(x)",
      "We support one OS. System (admin) users sign in.",
    ],
    before: memberOf(["os", "posix", "nt", "platform"]),
    after: seq(call, not(lit(")"))),
  }),
  pattern("python.subprocess", ["popen", "popen3"], {
    catches: "a child process started with Popen",
    finds: ["subprocess.Popen(['id'])", "subprocess . Popen ( cmd )", "popen2.popen3('id')"],
    ignores: [
      "Explain subprocess.Popen.",
      "subprocess.run(['git', 'status'], check=True)",
      "self.subprocess.Popen(x)",
    ],
    before: memberOf(["subprocess", "popen2"]),
    after: call,
  }),
  pattern("python.subprocess", ["subprocess", "commands"], {
    catches: "a command line given as a text",
    finds: [
      "subprocess.run('id')",
      'subprocess . call ( "id" )',
      "subprocess.check_call(f'id {x}')",
      "subprocess.check_output('id', shell=True)",
      "commands.getoutput('id')",
      "subprocess.getstatusoutput('id')",
    ],
    ignores: [
      "subprocess.run(['ls', '-l'])",
      "subprocess.check_output(command)",
      "bot.commands.call('x')",
      "subprocess.runs('x')",
    ],
    precededBy: UNQUALIFIED,
    after: seq(
      dot,
      keyword(["run", "call", "check_call", "check_output", "getoutput", "getstatusoutput"]),
      call,
      ows,
      opt(lit("f")),
      quote,
    ),
  }),
  pattern("python.subprocess", ["subprocess"], {
    catches: "a command that a shell interprets",
    finds: [
      "subprocess.check_call(c, shell=True)",
      "subprocess.check_output(c, shell=True)",
      "subprocess.run(command, shell=True)",
      "subprocess . call ( c, shell = True )",
    ],
    ignores: ["subprocess.run(command, shell=False)", "self.subprocess.run(c, shell=True)"],
    precededBy: UNQUALIFIED,
    after: seq(
      dot,
      keyword(["run", "call", "check_call", "check_output"]),
      call,
      skipTo(seq(lit("shell"), ows, lit("="), ows, lit("true")), 100, ")\n"),
    ),
  }),
  pattern("python.pty", ["pty", "dup2"], {
    catches: "an interactive shell connected to a terminal or to a socket",
    from: "relaxed",
    finds: ["pty.spawn('/bin/sh')", 'pty . spawn ( "bash" )', "os.dup2(s.fileno(), 0)"],
    ignores: ["empty.spawn('x')", "pty.spawn(argv)", "os.dup2(fd, 1)"],
    precededBy: NOT_WORD,
    after: choice(seq(dot, lit("spawn"), call, ows, quote), seq(call, ows, identifier, dot, lit("fileno"))),
  }),
  pattern("python.reverse-shell", ["import socket", "import os", "import pty", "import subprocess"], {
    catches: "a program in one line that imports modules and opens a socket or runs a command",
    from: "relaxed",
    finds: [
      "import socket,subprocess,os;s=socket.socket()",
      "import os; os.system(c)",
      "import os; os.popen(c)",
      "import pty;pty.spawn(s)",
      "import subprocess ; subprocess.call(c)",
    ],
    ignores: [
      "import os; print(os.getcwd())",
      "import subprocess; print(subprocess.PIPE)",
      "import socket\ns = socket.socket()",
      "reimport os;os.system",
      "import os",
    ],
    before: atWordStart,
    after: seq(
      times(0, 4, seq(ows, lit(","), ows, identifier)),
      ows,
      lit(";"),
      skipTo(
        choice(
          lit("socket.socket"),
          lit("os.system"),
          lit("os.popen"),
          lit("pty.spawn"),
          seq(lit("subprocess"), dot, identifier, peek(lit("("))),
        ),
        60,
        "\n",
      ),
    ),
  }),
];
