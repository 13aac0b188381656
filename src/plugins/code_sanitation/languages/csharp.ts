// C# patterns: starting processes, loading assemblies and types by name, compiling code, unsafe deserialization, Razor
// expressions.
import { NOT_WORD } from "../char-set.ts";
import { choice, exact, keyword, lit, oneOf, opt, seq, skipTo } from "../combinators.ts";
import { atWordStart } from "../look-behind.ts";
import type { Matcher } from "../matcher.ts";
import { pattern, type Pattern } from "../pattern.ts";
import { end, ows, owsAndComments, quote, rws } from "../tokens.ts";
import { OBJECTS } from "./csharp/objects.ts";
import { SYSTEM } from "./csharp/system.ts";
import { dot } from "./member-access.ts";

const call = seq(owsAndComments, lit("("));
/** A string of C#, also verbatim and interpolated. */
const string: Matcher = seq(opt(oneOf("@$")), opt(oneOf("@$")), quote);
/** `Process.Start(…)`. In lower case, as programs in Python write `process.start()`, a text must be the argument. */
const start: Matcher = choice(
  seq(dot, choice(exact("Start"), exact("START")), call),
  seq(dot, lit("start"), call, ows, string),
  seq(lit("."), rws, exact("Start"), call, ows, string),
);

export const CSHARP: readonly Pattern[] = [
  pattern("csharp.process-start", ["process"], {
    catches: "a process started with Process.Start",
    finds: [
      "Process.Start()",
      'System.Diagnostics.Process.Start("cmd.exe")',
      'Process . Start ( "calc.exe" )',
      "Process/*x*/.Start(info)",
      "PROCESS.START(x)",
      'process.start(@"cmd.exe")',
      'Process. Start("cmd")',
      'process.start($@"{x}")',
    ],
    ignores: [
      "process.start()",
      "What is Process.Start?",
      "myprocess.start('x')",
      "Describe the process. Start (if you can) with the plan.",
      "process.Started(x)",
    ],
    precededBy: NOT_WORD,
    after: start,
  }),
  pattern("csharp.process-start-info", ["processstartinfo"], {
    catches: "the description of a process with a command",
    finds: [
      'new ProcessStartInfo("cmd")',
      'new ProcessStartInfo ( @"cmd" )',
      "new ProcessStartInfo { FileName = x }",
      "new ProcessStartInfo()",
    ],
    ignores: ["ProcessStartInfo info = Build(x);", "MyProcessStartInfo('x')", "new ProcessStartInfo(path)"],
    before: atWordStart,
    after: choice(seq(call, ows, choice(string, lit(")"))), seq(ows, lit("{"), ows, lit("filename"))),
  }),
  pattern("csharp.process-type", ["system.diagnostics.process"], {
    catches: "the name of the type that starts processes",
    finds: [
      "System.Diagnostics.Process",
      "typeof(System.Diagnostics.Process).x",
      '"System.Diagnostics.Process, System"',
      "'System.Diagnostics.Process'",
      "new System.Diagnostics.Process()",
    ],
    ignores: [
      "using System.Diagnostics.Process;",
      "System.Diagnostics.ProcessModule",
      "System.Diagnostics.Process is a class",
      "MySystem.Diagnostics.Process()",
    ],
    before: atWordStart,
    after: choice(oneOf("(),\"'"), seq(ows, end)),
  }),
  pattern("csharp.load-assembly", ["assembly"], {
    catches: "an assembly loaded from bytes or from a file",
    finds: [
      "Assembly.Load(bytes)",
      'Assembly . LoadFrom ( "x.dll" )',
      'Assembly.LoadFile(@"c:\\x.dll")',
      "Assembly.UnsafeLoadFrom('x')",
    ],
    ignores: [
      "Assembly.GetExecutingAssembly()",
      "Assembly.LoadFrom(path)",
      "MyAssembly.Load(bytes)",
      "The assembly. Load (kg) is 5",
    ],
    precededBy: NOT_WORD,
    after: choice(
      seq(dot, keyword(["load"]), call),
      seq(dot, keyword(["loadfrom", "loadfile", "unsafeloadfrom"]), call, ows, string),
    ),
  }),
  pattern("csharp.create-instance", ["activator"], {
    catches: "an object of a type that is given as a text",
    finds: ['Activator.CreateInstance("x")', "Activator . CreateInstance ( Type.GetType(x))"],
    ignores: [
      "Activator.CreateInstance(type)",
      "Activator.CreateInstance<T>()",
      "MyActivator.CreateInstance('x')",
    ],
    precededBy: NOT_WORD,
    after: seq(dot, lit("createinstance"), call, ows, choice(quote, seq(lit("type"), dot, lit("gettype")))),
  }),
  pattern("csharp.type-by-name", ["type"], {
    catches: "a type of the system, looked up by its name",
    finds: ['Type.GetType("System.Diagnostics.Process")', 'Type . GetType ( @"Microsoft.Win32.Registry" )'],
    ignores: ["Type.GetType(name)", 'Type.GetType("App.Models.User")', 'MyType.GetType("System.X")'],
    precededBy: NOT_WORD,
    after: seq(dot, lit("gettype"), call, ows, string, choice(lit("system."), lit("microsoft."))),
  }),
  pattern("csharp.compile", ["csharpcodeprovider", "compileassemblyfromsource", "vbcodeprovider"], {
    catches: "code compiled at run time",
    finds: [
      "new CSharpCodeProvider().X()",
      "provider.CompileAssemblyFromSource ( p, code )",
      "new VBCodeProvider()",
    ],
    ignores: [
      "using CSharpCodeProvider;",
      "MyCSharpCodeProvider()",
      "the VBCodeProvider class",
      "XCompileAssemblyFromSource(x)",
    ],
    before: atWordStart,
    after: call,
  }),
  pattern("csharp.compile", ["csharpscript"], {
    catches: "a script that is run from a text",
    finds: [
      "CSharpScript.EvaluateAsync(code)",
      'CSharpScript . RunAsync ( "1" )',
      "CSharpScript.Create(code)",
    ],
    ignores: ["using CSharpScript;", "MyCSharpScript.RunAsync(x)", "CSharpScript.Name(x)"],
    before: atWordStart,
    after: seq(dot, keyword(["evaluateasync", "runasync", "create"]), call),
  }),
  pattern("csharp.powershell", ["powershell"], {
    catches: "a PowerShell script that is run from a program",
    finds: [
      "PowerShell.Create().AddScript(x)",
      "PowerShell . Create ( ) . AddCommand(x)",
      "var p = PowerShell.Create();\np.AddScript(x)",
    ],
    ignores: ["PowerShell.Create()", "MyPowerShell.Create().AddScript(x)", "PowerShell.Create().Dispose()"],
    precededBy: NOT_WORD,
    after: seq(dot, lit("create"), call, skipTo(seq(dot, keyword(["addscript", "addcommand"]), call), 60)),
  }),
  pattern(
    "csharp.unsafe-deserialise",
    ["binaryformatter", "losformatter", "netdatacontractserializer", "soapformatter", "objectstateformatter"],
    {
      catches: "an object loaded with a formatter that runs code of its data",
      finds: [
        "new BinaryFormatter().Deserialize(stream)",
        "new LosFormatter ( ) . Deserialize(x)",
        "new NetDataContractSerializer().Deserialize(x)",
        "new SoapFormatter().Deserialize(x)",
        "var f = new BinaryFormatter();\nreturn f.Deserialize(x);",
        "new ObjectStateFormatter().Deserialize(x)",
      ],
      ignores: [
        "new BinaryFormatter().Serialize(stream, x)",
        "MyLosFormatter().Deserialize(x)",
        "var f = new BinaryFormatter();",
      ],
      before: atWordStart,
      after: seq(call, ows, lit(")"), skipTo(seq(dot, lit("deserialize"), call), 80)),
    },
  ),
  pattern("csharp.type-gadget", ['"$type"', "'$type'"], {
    catches: "a JSON object that selects a type of a deserialization attack",
    from: "relaxed",
    finds: [
      '{"$type": "System.Windows.Data.ObjectDataProvider, x"}',
      "{'$type':'System.Diagnostics.Process'}",
      '{"$type":"System.Windows.Markup.X"}',
      '{"$type" : "System.Configuration.Install.X"}',
      '{"$type":"x.WindowsIdentity"}',
      '{"$type":"System.Management.Automation.X"}',
      '{"$type":"x.ObjectDataProvider"}',
    ],
    ignores: ['{"$type": "App.Models.User, App"}', '{"$type": "string"}'],
    after: seq(
      ows,
      lit(":"),
      ows,
      quote,
      skipTo(
        choice(
          lit("objectdataprovider"),
          lit("system.diagnostics"),
          lit("system.windows"),
          lit("system.configuration"),
          lit("windowsidentity"),
          lit("system.management"),
        ),
        40,
        "\n",
      ),
    ),
  }),
  pattern("csharp.razor", ["@(", "@{"], {
    catches: "a Razor expression that reaches the system",
    from: "relaxed",
    finds: [
      "@(System.IO.File.X)",
      "@{ Process.Start(x) }",
      "@(File.ReadAllText(x))",
      "@( Activator.X )",
      "@(new System.X())",
      "@(7*7)",
      "@(1+2)",
    ],
    ignores: ["@(Model.Name)", "mail@(example)", "@{ ViewBag.Title = 1; }", "@(7)"],
    after: seq(
      ows,
      choice(
        seq(keyword(["system", "process", "file", "activator"]), dot),
        seq(lit("new"), ows, lit("system.")),
        seq(oneOf("0123456789"), oneOf("*+"), oneOf("0123456789"), lit(")")),
      ),
    ),
  }),
  ...OBJECTS,
  ...SYSTEM,
];
