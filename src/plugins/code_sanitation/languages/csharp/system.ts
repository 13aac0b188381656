// C# that reaches the system: processes started in several steps, scripts, secret and executable files, the registry.
import { NOT_WORD } from "../../char-set.ts";
import { choice, keyword, lit, oneOf, opt, seq, skipTo } from "../../combinators.ts";
import { splitWords } from "../../keyword-set.ts";
import { atWordStart, skipWhitespaceBack, wordBefore, type LookBehind } from "../../look-behind.ts";
import { EQUALS } from "../../char-codes.ts";
import { NO_MATCH, type Matcher } from "../../matcher.ts";
import { unitAt } from "../../normalized-text.ts";
import { pattern, type Pattern } from "../../pattern.ts";
import { identifier, ows, quote } from "../../tokens.ts";
import { dot } from "../member-access.ts";
import { drive } from "../shell-grammar.ts";

const call = seq(ows, lit("("));
/** A string of C#, also verbatim and interpolated. */
const string: Matcher = seq(opt(oneOf("@$")), quote);
/** Matches after `=` or `static`: a name for the type in this file. */
const isAlias: LookBehind = (input, at) => {
  const position = skipWhitespaceBack(input, at);
  return unitAt(input, position - 1) === EQUALS || wordBefore(input, position) === "static" ? at : NO_MATCH;
};
const secretFile: Matcher = choice(
  lit(".ssh"),
  lit("web.config"),
  lit("..\\.."),
  lit("../.."),
  lit("/etc/"),
  lit("/proc/"),
);
const serverPage: Matcher = seq(lit("."), keyword(splitWords(`aspx ashx asmx asp cshtml php jsp`)));

export const SYSTEM: readonly Pattern[] = [
  pattern("csharp.process-start-info", ["startinfo.filename"], {
    catches: "a process that runs a shell",
    finds: [
      ...splitWords(`cmd powershell pwsh bash sh`).map((name) => `p.StartInfo.FileName = "${name}";`),
      'StartInfo.FileName=@"cmd.exe"',
      'p.StartInfo.FileName = "/bin/sh"',
    ],
    ignores: [
      'p.StartInfo.FileName = "git";',
      "p.StartInfo.FileName = path;",
      'MyStartInfo.FileName = "cmd"',
    ],
    before: atWordStart,
    after: seq(
      ows,
      lit("="),
      ows,
      string,
      choice(keyword(splitWords(`cmd powershell pwsh bash sh`)), lit("/bin/")),
    ),
  }),
  pattern("csharp.process-type", ["system.diagnostics.process;"], {
    catches: "another name for the type that starts processes",
    finds: ["using P = System.Diagnostics.Process;", "using static System.Diagnostics.Process;"],
    ignores: ["using System.Diagnostics.Process;"],
    before: isAlias,
  }),
  pattern("csharp.process-type", ["win32_process"], {
    catches: "a process created through WMI",
    finds: ['new ManagementClass("Win32_Process").InvokeMethod("Create", x)'],
    ignores: ["SELECT * FROM Win32_Process", "'MyWin32_Process').InvokeMethod('Create')"],
    before: atWordStart,
    after: seq(quote, skipTo(seq(lit("invokemethod"), call, ows, quote, lit("create")), 60, "\n")),
  }),
  pattern("csharp.process-start", ["interaction"], {
    catches: "a command started with the function Shell of Visual Basic",
    finds: ['Interaction.Shell("calc.exe")', "Interaction . Shell ( x )"],
    ignores: ["Interaction.MsgBox(x)", "MyInteraction.Shell(x)", "the interaction. Shell (x)"],
    precededBy: NOT_WORD,
    after: seq(dot, lit("shell"), call),
  }),
  pattern("csharp.powershell", ["createpipeline"], {
    catches: "a script that a runspace of PowerShell runs",
    finds: ["runspace.CreatePipeline(script)", "r.CreatePipeline ( 'x' )"],
    ignores: ["runspace.CreatePipeline()", "the CreatePipeline method", "RecreatePipeline(x)"],
    before: atWordStart,
    after: seq(call, ows, choice(quote, identifier)),
  }),
  pattern("csharp.razor", ["@system."], {
    catches: "a Razor expression that reads files or the environment",
    from: "relaxed",
    finds: [
      "Dear @System.Environment.MachineName",
      "@System.IO.File.ReadAllText(x)",
      "@System.Diagnostics.Process.X",
      "@System.Reflection.X",
    ],
    ignores: ["@System.DateTime.Now", "joe@system.io.example"],
    precededBy: NOT_WORD,
    after: seq(keyword(splitWords(`environment io diagnostics reflection`)), lit(".")),
  }),
  pattern("csharp.secret-file", ["readalltext", "readallbytes", "readalllines"], {
    catches: "a file with secrets or in a parent directory that is read",
    finds: [
      'File.ReadAllText("/home/x/.ssh/id_ed25519")',
      'File.ReadAllBytes ( @"C:\\site\\web.config" )',
      'File.ReadAllLines("../../x")',
      'File.ReadAllText(@"..\\..\\x")',
      "File.ReadAllText('/etc/hosts')",
      "File.ReadAllText('/proc/self/environ')",
    ],
    ignores: ['File.ReadAllText("notes.txt")', "XReadAllText('/etc/x')", "File.ReadAllText(path)"],
    before: atWordStart,
    after: seq(call, ows, string, skipTo(secretFile, 40, "\"'\n")),
  }),
  pattern("csharp.server-page", ["writealltext", "writeallbytes"], {
    catches: "a page that a web server runs, written to a file",
    finds: [
      'File.WriteAllText("wwwroot/x.aspx", code)',
      'File.WriteAllBytes ( @"x.ashx", b)',
      ...splitWords(`asmx asp cshtml php jsp`).map((name) => `File.WriteAllText("x.${name}", y)`),
    ],
    ignores: ['File.WriteAllText("out.json", x)', "XWriteAllText('x.aspx')"],
    before: atWordStart,
    after: seq(call, ows, string, skipTo(serverPage, 60, "\"'\n")),
  }),
  pattern("csharp.remove-directory", ["directory"], {
    catches: "the root directory or a directory of the system, removed",
    finds: [
      'Directory.Delete("/", true)',
      'Directory . Delete ( @"C:\\", true)',
      ...splitWords(`users windows programdata`).map((name) => `Directory.Delete(@"C:\\${name}", true)`),
    ],
    ignores: [
      'Directory.Delete("/tmp/build", true)',
      'MyDirectory.Delete("/")',
      'Directory.Delete(@"C:\\work\\out")',
    ],
    precededBy: NOT_WORD,
    after: seq(
      dot,
      lit("delete"),
      call,
      ows,
      string,
      choice(seq(lit("/"), quote), seq(drive, opt(keyword(splitWords(`users windows programdata`))), quote)),
    ),
  }),
  pattern("csharp.registry-run", ["registry"], {
    catches: "a program started through a Windows interface",
    finds: ['Registry.SetValue(@"HKEY_CURRENT_USER\\Software\\x\\Run", "a", "b")'],
    ignores: [
      'Registry.SetValue(@"HKEY_CURRENT_USER\\Software\\Shop", "a", 1)',
      "MyRegistry.SetValue('x\\Run')",
    ],
    precededBy: NOT_WORD,
    after: seq(dot, lit("setvalue"), call, ows, string, skipTo(seq(lit("\\run"), quote), 80, "\n")),
  }),
];
