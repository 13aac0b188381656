// Ruby patterns: running code and commands, calls by name, unsafe loading, and interpolation in templates.
import { isInClass, NEWLINE, QUOTE, WHITESPACE, WORD } from "../char-classes.ts";
import { COMMA } from "../char-codes.ts";
import { charSetExcept, NOT_WORD } from "../char-set.ts";
import { choice, keyword, lit, oneOf, opt, run, seq, skipTo } from "../combinators.ts";
import { splitWords } from "../keyword-set.ts";
import { afterOneOfAndOws, atWordStart, skipWhitespaceBack, type LookBehind } from "../look-behind.ts";
import { NO_MATCH, type Matcher } from "../matcher.ts";
import { unitAt } from "../normalized-text.ts";
import { pattern, type Pattern } from "../pattern.ts";
import { digits, identifier, ows, quote } from "../tokens.ts";
import { call, calledOn, callPatterns, UNQUALIFIED } from "./calls.ts";
import { dot, memberOf } from "./member-access.ts";
import { OBJECTS } from "./ruby/objects.ts";
import { COMMANDS } from "./shell-commands.ts";

const command = keyword(COMMANDS);
/** `7*7`, as attackers probe a template engine: a vulnerable one outputs 49. */
const arithmeticProbe = seq(digits, ows, lit("*"), ows, digits, ows, choice(lit("}"), lit("%>")));
/** Data of a request in a Rails or Sinatra application. */
const requestData: Matcher = keyword(["params", "request", "cookies", "base64"]);
/** Matches at the start of a line or statement: no word, quote or comma precedes. */
const statementStart: LookBehind = (input, at) => {
  const before = unitAt(input, skipWhitespaceBack(input, at) - 1);
  return unitAt(input, at - 1) === NEWLINE || !(isInClass(before, WORD | QUOTE) || before === COMMA)
    ? at
    : NO_MATCH;
};
/** A call with parentheses, or with a text after whitespace. */
const textArgument: Matcher = seq(ows, opt(seq(lit("("), ows)), quote);

/** `command, "r+"`: a command from a variable, and how it is opened. */
const commandAndMode: Matcher = seq(identifier, ows, lit(","), ows, quote, oneOf("rw"), opt(lit("+")), quote);
/** Code that is downloaded, decoded or put together: `URI.open(…)`, `[101, 118].pack("c*")`. */
const computedText: Matcher = choice(
  seq(lit("["), ows, digits, ows, lit(",")),
  seq(keyword(splitWords("uri base64 zlib")), oneOf(".:")),
);

export const RUBY: readonly Pattern[] = [
  ...callPatterns(
    "ruby.eval",
    ["eval", "exec", "system", "syscall"],
    ["kernel", "binding", "process", "self", "object"],
    {
      catches: "a call that runs code or a command",
      finds: [
        "eval()",
        "eval(params[:x])",
        "exec('id')",
        "Kernel.system('id')",
        "Kernel . exec ( 'id' )",
        "Kernel::exec('id')",
        "syscall(59, x)",
      ],
      ignores: ["def exec(command)", "model.eval(x)", "the file system(s)", "Is eval() slow?", "medieval(x)"],
    },
  ),
  pattern("ruby.scoped-eval", splitWords("instance_eval class_eval module_eval instance_exec class_exec"), {
    catches: "a text that is run as code of an object or class",
    finds: [
      "x.instance_eval('y')",
      'X.class_eval ( "y" )',
      "x.module_eval(params[:x])",
      "x.instance_exec('y')",
      "x.class_exec('y')",
    ],
    ignores: ["X.class_eval do", "x.instance_eval { name }", "my_class_eval('x')", "x.class_eval(code)"],
    before: atWordStart,
    after: seq(call, ows, choice(quote, requestData)),
  }),
  pattern("ruby.command-string", ["system", "exec", "eval", "spawn"], {
    catches: "a command as a text, without parentheses",
    finds: ["system 'ls -l'", 'exec "rm x"', "eval '/bin/sh'", 'spawn "#{x}"', 'x; system "id"'],
    ignores: [
      "operating system 'x'",
      "the system 'id' is",
      "system 'Windows'",
      "subsystem 'ls x'",
      "a, exec 'ls x'",
    ],
    precededBy: NOT_WORD,
    before: statementStart,
    after: seq(ows, quote, choice(seq(command, oneOf(" ;|\"'")), lit("/bin/"), lit("#{"))),
  }),
  pattern("ruby.eval-string", ["eval"], {
    catches: "a text that is run as code, without parentheses",
    finds: [
      "eval 'x'",
      'x; eval "y"',
      "eval [112, 49].pack('c*')",
      "eval URI.open(x).read",
      "eval Base64.decode64(x)",
      "eval Zlib::Inflate.inflate(x)",
    ],
    ignores: ["the eval 'x'", "--eval 'x'", "node.eval 'x'", "eval x", "medieval 'x'"],
    precededBy: charSetExcept(WORD, "-."),
    before: statementStart,
    after: seq(run(WHITESPACE, 1, 1), choice(quote, computedText)),
  }),
  pattern("ruby.percent-x", ["%x"], {
    catches: "a command in a literal that runs it",
    finds: ["%x(id)", "%x{ls -l}", "%x[/bin/sh]", "%x|#{y}|", "%x( id )"],
    ignores: ["%x(hexadecimal)", "50%x(id)", "printf('%x', n)", "%x (id)"],
    before: atWordStart,
    after: seq(oneOf("([{|/<!"), ows, choice(command, lit("/"), lit("#{"))),
  }),
  pattern("ruby.process", splitWords("popen capture2 capture2e capture3 popen3 spawn pipeline"), {
    catches: "a command started from a text",
    finds: [
      "IO.popen('id')",
      'Open3 . capture3 ( "id" )',
      "Process.spawn 'id'",
      "Kernel.spawn('id')",
      "PTY.spawn('id')",
      "Open3.popen3('id')",
      "Open3.capture2e('id')",
      "Open3.capture2('id')",
      "Open3.pipeline('id')",
      "IO.popen(['id', '-u'])",
      "IO.popen(command, 'r')",
      "IO.popen(command, 'r+')",
    ],
    ignores: [
      "Open3.capture3(command)",
      "fish.spawn('x')",
      "IO.popen(args)",
      "Open3.capture3(env, 'ruby')",
      "Process.spawner('x')",
    ],
    before: memberOf(["io", "open3", "process", "kernel", "pty"]),
    after: choice(textArgument, seq(call, ows, choice(seq(lit("["), ows, quote), commandAndMode))),
  }),
  pattern("ruby.pipe-open", ["open"], {
    catches: "a command opened like a file",
    finds: ["open('|id')", 'open ( "| id" )', "Kernel.open('|id')"],
    ignores: ["open('a|b')", "reopen('|x')", "File.open('|x')"],
    before: calledOn(["kernel"]),
    after: seq(call, ows, quote, ows, lit("|")),
  }),
  pattern("ruby.unsafe-load", ["load", "new"], {
    catches: "an object or a template loaded from a request",
    finds: [
      "YAML.load(params[:x])",
      "Marshal . load ( request.body )",
      "ERB.new(params[:t])",
      "Oj.load(cookies[:x])",
      "Psych.load(Base64.decode64(x))",
    ],
    ignores: [
      "YAML.load(File.read('x.yml'))",
      "Config.load(params[:x])",
      "ERB.new(template)",
      "YAML.loader(params)",
    ],
    before: memberOf(["yaml", "marshal", "erb", "oj", "psych"]),
    after: seq(call, ows, requestData),
  }),
  pattern("ruby.unsafe-load", ["marshal"], {
    catches: "an object loaded from a text",
    finds: ["Marshal.load('x')", 'Marshal . load ( "x" )'],
    ignores: ["Marshal.load(file)", "App.Marshal.load('x')"],
    precededBy: UNQUALIFIED,
    after: seq(dot, lit("load"), call, ows, quote),
  }),
  pattern("ruby.send", ["send", "public_send", "__send__", "method"], {
    catches: "a method that runs code or a command, called by its name",
    finds: [
      "obj.send(:eval, x)",
      "Kernel . public_send ( 'system', x)",
      "x.__send__(:exec, y)",
      "x.method(:system).call(y)",
      "x.send(:instance_eval, y)",
      "x.send(:`, y)",
      "x.send('sy'+'stem', y)",
    ],
    ignores: ["user.send(:name)", "mail.send('system message')", "resend(:eval)", "x.method(:name)"],
    before: afterOneOfAndOws("."),
    after: seq(
      call,
      ows,
      choice(lit(":"), quote),
      choice(
        seq(keyword(["eval", "exec", "system", "instance_eval"]), opt(quote), ows, oneOf(",)")),
        lit("`"),
      ),
    ),
  }),
  pattern("ruby.interpolation", ["#{"], {
    catches: "a command or a probe in the interpolation of a string",
    from: "relaxed",
    finds: [
      "#{system('id')}",
      "#{ exec 'id' }",
      "#{eval(x)}",
      "#{`id`}",
      "#{%x(id)}",
      "#{File.read('/etc/x')}",
      "#{IO.read('/x')}",
      "#{7*7}",
    ],
    ignores: ["#{name}", "#{system}", "#{File.read('notes.txt')}", "#{a * b}", "#{ evaluate(x) }"],
    after: seq(
      ows,
      choice(
        seq(keyword(["system", "exec", "eval"]), ows, choice(lit("("), quote)),
        lit("`"),
        lit("%x"),
        seq(keyword(["file", "io"]), dot, lit("read"), call, quote, lit("/")),
        arithmeticProbe,
      ),
    ),
  }),
  pattern("ruby.template", ["<%=", "<%"], {
    catches: "a command or a probe in a template",
    from: "relaxed",
    finds: [
      "<%= system('id') %>",
      "<% exec 'id' %>",
      "<%=eval(x)%>",
      "<%= `id` %>",
      "<%= %x(id) %>",
      "<%= IO.popen('id') %>",
      "<%= File.open( '/x') %>",
      "<%= Dir.entries('/') %>",
      "<%= 7*7 %>",
    ],
    ignores: ["<%= user.name %>", "<% if x %>", "<%= system_name %>", "<%= file.name %>", "<%= a * b %>"],
    after: seq(
      ows,
      choice(
        arithmeticProbe,
        seq(keyword(["system", "exec", "eval"]), ows, choice(lit("("), quote)),
        lit("`"),
        lit("%x"),
        seq(keyword(["io", "file", "dir"]), dot, skipTo(seq(lit("("), ows, quote), 20, ">")),
      ),
    ),
  }),
  pattern("ruby.unsafe-yaml", ["!ruby/object", "!ruby/class", "!ruby/marshalable"], {
    catches: "a YAML tag that creates a Ruby object",
    from: "relaxed",
    finds: ["--- !ruby/object:Gem::Requirement", "!ruby/class 'X'", "!ruby/marshalable:X"],
    ignores: ["!ruby/sym name", "ruby/object", "!ruby/objects", "!ruby/classy"],
    after: oneOf(": "),
  }),
  ...OBJECTS,
];
