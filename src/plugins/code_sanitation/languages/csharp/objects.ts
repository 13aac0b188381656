// C# that turns data into objects or code: deserialization that selects types, XAML, reflection on types of the system, native code.
import { NOT_WORD } from "../../char-set.ts";
import { choice, exact, keyword, lit, oneOf, opt, run, seq, skipTo } from "../../combinators.ts";
import { WORD } from "../../char-classes.ts";
import { splitWords } from "../../keyword-set.ts";
import { atWordStart } from "../../look-behind.ts";
import type { Matcher } from "../../matcher.ts";
import { pattern, type Pattern } from "../../pattern.ts";
import { ows, quote } from "../../tokens.ts";
import { dot } from "../member-access.ts";

const call = seq(ows, lit("("));
const NATIVE_FUNCTIONS = splitWords(`shellexecute virtualalloc createremotethread createthread`);
/** Types whose methods reach files, processes or other assemblies. */
const systemType: Matcher = seq(
  lit("system."),
  choice(lit("io.file"), lit("diagnostics.process"), lit("reflection.assembly")),
);
const binaryHeader = exact("AAEAAAD/////");

export const OBJECTS: readonly Pattern[] = [
  pattern("csharp.type-names", ["typenamehandling"], {
    catches: "JSON that may name the type of an object",
    finds: [
      "s.TypeNameHandling = TypeNameHandling.All;",
      "TypeNameHandling=TypeNameHandling.Auto",
      "TypeNameHandling = TypeNameHandling.Objects",
    ],
    ignores: [
      "TypeNameHandling = TypeNameHandling.None",
      "MyTypeNameHandling = TypeNameHandling.All",
      "TypeNameHandling.All",
    ],
    before: atWordStart,
    after: seq(ows, lit("="), ows, lit("typenamehandling."), keyword(splitWords(`all auto objects`))),
  }),
  pattern("csharp.type-names", ["simpletyperesolver"], {
    catches: "a serializer that creates the types that its data names",
    finds: ["new JavaScriptSerializer(new SimpleTypeResolver())"],
    ignores: ["the SimpleTypeResolver class", "MySimpleTypeResolver()"],
    before: atWordStart,
    after: call,
  }),
  pattern("csharp.type-names", ["xmlserializer"], {
    catches: "a serializer for a type that is given as a text",
    finds: ["new XmlSerializer(Type.GetType(x))", "new XmlSerializer ( Type . GetType(x))"],
    ignores: ["new XmlSerializer(typeof(Order))", "MyXmlSerializer(Type.GetType(x))"],
    before: atWordStart,
    after: seq(call, ows, lit("type"), dot, lit("gettype")),
  }),
  pattern("csharp.serialised", ["aaeaaad/////"], {
    catches: "an object of BinaryFormatter in Base64",
    from: "relaxed",
    finds: ["AAEAAAD/////AQAAAAAAAAAM"],
    ignores: ["aaeaaad/////", "xAAEAAAD/////"],
    before: atWordStart,
    after: (input, at) => (binaryHeader(input, at - 12) < 0 ? -1 : at),
  }),
  pattern("csharp.xaml", ["xamlreader"], {
    catches: "objects created from XAML",
    finds: ["XamlReader.Parse(x)", "XamlReader . Load ( stream )"],
    ignores: ["using XamlReader;", "MyXamlReader.Parse(x)", "XamlReader.LoadAsync(x)"],
    precededBy: NOT_WORD,
    after: seq(dot, keyword(["parse", "load"]), call),
  }),
  pattern("csharp.xaml", ["<objectdataprovider"], {
    catches: "XAML that calls a method which runs or loads something",
    from: "relaxed",
    finds: [
      '<ObjectDataProvider x:Key="a" MethodName="Start">',
      "<ObjectDataProvider MethodName='Load'>",
      '<ObjectDataProvider MethodName="Parse">',
    ],
    ignores: ['<ObjectDataProvider MethodName="GetValues" ObjectType="{x:Type sys:Enum}">'],
    after: skipTo(seq(lit("methodname="), quote, keyword(splitWords(`start load parse`))), 80, "\n>"),
  }),
  pattern("csharp.reflection", ["typeof(process)", "typeof(file)", "typeof(assembly)"], {
    catches: "a method of a type that reaches the system, looked up by its name",
    finds: [
      'typeof(Process).GetMethod("Start")',
      'typeof(File).InvokeMember("Delete", x)',
      "typeof(Assembly).GetMethods()",
    ],
    ignores: ["typeof(Process).Name", "xtypeof(File).GetMethod('x')", "typeof(Assembly).Assembly.Location"],
    before: atWordStart,
    after: seq(dot, keyword(splitWords(`getmethod getmethods invokemember`)), call),
  }),
  pattern("csharp.reflection", [".gettype("], {
    catches: "a type that reaches the system, looked up by its name in an assembly",
    finds: [
      'asm.GetType("System.IO.File")',
      "asm.GetType( 'System.Diagnostics.Process')",
      'a.GetType("System.Reflection.Assembly")',
    ],
    ignores: ['asm.GetType("App.Program")', "x.GetType().Name", 'asm.GetType("System.String")'],
    after: seq(ows, quote, systemType),
  }),
  pattern("csharp.load-assembly", ["appdomain"], {
    catches: "an assembly loaded into the running application",
    finds: ["AppDomain.CurrentDomain.Load(x)", "AppDomain . CurrentDomain.ExecuteAssembly ( x )"],
    ignores: ["AppDomain.CurrentDomain.BaseDirectory", "MyAppDomain.CurrentDomain.Load(x)"],
    precededBy: NOT_WORD,
    after: seq(dot, lit("currentdomain"), dot, keyword(["load", "executeassembly"]), call),
  }),
  pattern("csharp.native", NATIVE_FUNCTIONS, {
    catches: "a call of a function of Windows that runs a program or code in memory",
    finds: [
      ...NATIVE_FUNCTIONS.map((name) => `${name}(IntPtr.Zero, x)`),
      "ShellExecuteW ( IntPtr.Zero, x)",
      "CreateRemoteThread(process, IntPtr.Zero, 0)",
    ],
    ignores: [
      "static extern IntPtr VirtualAlloc(IntPtr address, uint size);",
      "MyCreateThread(IntPtr.Zero)",
      "the ShellExecute function",
    ],
    before: atWordStart,
    after: seq(opt(oneOf("aw")), call, ows, opt(seq(run(WORD, 1, 24), lit(","), ows)), lit("intptr.zero")),
  }),
  pattern("csharp.native", ["getdelegateforfunctionpointer"], {
    catches: "code in memory that is called at once",
    finds: ["Marshal.GetDelegateForFunctionPointer<Action>(p)()", "GetDelegateForFunctionPointer<X>(p) ()"],
    ignores: [
      "var f = Marshal.GetDelegateForFunctionPointer<X>(p);",
      "MyGetDelegateForFunctionPointer<X>(p)()",
    ],
    before: atWordStart,
    after: skipTo(seq(lit(")"), call), 60, ";\n"),
  }),
  pattern("csharp.native", ["nativelibrary"], {
    catches: "a native library from a directory that every user can write to, or from a parent directory",
    finds: ['NativeLibrary.Load("/tmp/x.so")', "NativeLibrary . Load ( '../x.so')"],
    ignores: ['NativeLibrary.Load("sqlite3")', "MyNativeLibrary.Load('/tmp/x')"],
    precededBy: NOT_WORD,
    after: seq(dot, lit("load"), call, ows, quote, choice(lit("/tmp/"), lit("../"))),
  }),
];
