// C# patterns: starting processes, loading assemblies and types by name, compiling code, unsafe deserialization, Razor
// expressions.
import { DOT } from "../char-codes.ts";
import { choice, lit, oneOf, opt, seq, skipTo } from "../combinators.ts";
import { atWordStart } from "../look-behind.ts";
import { unitAt } from "../normalized-text.ts";
import { pattern, type Pattern } from "../pattern.ts";
import { end, ows, quote, wordBoundary } from "../tokens.ts";

const call = seq(ows, lit("("));

export const CSHARP: readonly Pattern[] = [
  pattern("csharp.process-start", ["process.start"], {
    before: (input, at) => (unitAt(input, at - 1) === DOT ? at : atWordStart(input, at)),
    after: seq(wordBoundary, call),
  }),
  pattern("csharp.process-start-info", ["processstartinfo"], {
    before: atWordStart,
    after: choice(
      seq(call, ows, choice(quote, lit('@"'), lit(")"))),
      seq(ows, lit("{"), ows, lit("filename")),
    ),
  }),
  pattern("csharp.process-type", ["system.diagnostics.process"], {
    before: atWordStart,
    after: choice(oneOf("(.,\"'"), seq(wordBoundary, ows, end)),
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
    { before: atWordStart, after: seq(wordBoundary, call) },
  ),
  pattern("csharp.create-instance", ["activator.createinstance", "activator.createcominstancefrom"], {
    before: atWordStart,
    after: seq(call, ows, choice(quote, lit("type.gettype"))),
  }),
  pattern("csharp.type-by-name", ["type.gettype"], {
    before: atWordStart,
    after: seq(call, ows, opt(lit("@")), quote, choice(lit("system."), lit("microsoft."))),
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
    { before: atWordStart, after: seq(call, ows, lit(")"), ows, lit("."), lit("deserialize")) },
  ),
  pattern("csharp.type-gadget", ['"$type"'], {
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
  pattern("csharp.razor", ["@("], {
    after: seq(
      ows,
      choice(lit("system."), lit("process."), lit("file."), lit("activator."), lit("new system")),
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
