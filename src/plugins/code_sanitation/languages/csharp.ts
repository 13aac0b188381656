// C#: processes started, assemblies and types loaded by name, code compiled, unsafe deserialisation, and Razor expressions.
import { any, atWordStart, blanks, end, lit, oneOf, opt, quote, seq, upTo, wordEnd } from "../grammar.ts";
import { pattern, type Pattern } from "../pattern.ts";
import { unitAt } from "../view.ts";

const call = seq(blanks, lit("("));

export const CSHARP: readonly Pattern[] = [
  pattern("csharp.process-start", ["process.start"], {
    before: (view, at) => (unitAt(view, at - 1) === 0x2e ? at : atWordStart(view, at)),
    after: seq(wordEnd, call),
  }),
  pattern("csharp.process-start-info", ["processstartinfo"], {
    before: atWordStart,
    after: any(
      seq(call, blanks, any(quote, lit('@"'), lit(")"))),
      seq(blanks, lit("{"), blanks, lit("filename")),
    ),
  }),
  pattern("csharp.process-type", ["system.diagnostics.process"], {
    before: atWordStart,
    after: any(oneOf("(.,\"'"), seq(wordEnd, blanks, end)),
  }),
  pattern(
    "csharp.load-assembly",
    [
      "assembly.load",
      "assembly.loadfrom",
      "assembly.loadfile",
      "assembly.unsafeloadfrom",
      "appdomain.currentdomain.load",
    ],
    { before: atWordStart, after: seq(wordEnd, call) },
  ),
  pattern("csharp.create-instance", ["activator.createinstance", "activator.createcominstancefrom"], {
    before: atWordStart,
    after: seq(call, blanks, any(quote, lit("type.gettype"))),
  }),
  pattern("csharp.type-by-name", ["type.gettype"], {
    before: atWordStart,
    after: seq(call, blanks, opt(lit("@")), quote, any(lit("system."), lit("microsoft."))),
  }),
  pattern(
    "csharp.compile",
    [
      "csharpcodeprovider",
      "csharpscript.evaluateasync",
      "csharpscript.runasync",
      "compileassemblyfromsource",
      "vbcodeprovider",
    ],
    { before: atWordStart, after: call },
  ),
  pattern("csharp.powershell", ["powershell.create", "runspacefactory.createrunspace"], {
    before: atWordStart,
    after: call,
  }),
  pattern(
    "csharp.unsafe-deserialise",
    ["binaryformatter", "losformatter", "netdatacontractserializer", "soapformatter", "objectstateformatter"],
    { before: atWordStart, after: seq(call, blanks, lit(")"), blanks, lit("."), lit("deserialize")) },
  ),
  pattern("csharp.type-gadget", ['"$type"'], {
    after: seq(
      blanks,
      lit(":"),
      blanks,
      quote,
      upTo(
        any(
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
  pattern("csharp.razor", ["@("], {
    after: seq(
      blanks,
      any(lit("system."), lit("process."), lit("file."), lit("activator."), lit("new system")),
    ),
  }),
  pattern(
    "csharp.native",
    [
      "marshal.getdelegateforfunctionpointer",
      'dllimport("kernel32',
      'dllimport("user32',
      "virtualallocex(",
      "createremotethread(",
    ],
    { before: atWordStart },
  ),
  pattern(
    "csharp.server-page",
    ["<%@ page", "<%@page", "<%@ webhandler", 'runat="server"', "runat=server"],
    {},
  ),
];
