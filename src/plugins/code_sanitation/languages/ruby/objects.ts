// Ruby that turns data into objects or code, and commands in blocks and backticks.
import { NOT_WORD } from "../../char-set.ts";
import { choice, except, keyword, lit, oneOf, opt, seq, skipTo, times } from "../../combinators.ts";
import { splitWords } from "../../keyword-set.ts";
import { atWordStart } from "../../look-behind.ts";
import { pattern, type Pattern } from "../../pattern.ts";
import { digits, end, identifier, ows, quote, rws } from "../../tokens.ts";
import { call } from "../calls.ts";
import { dot } from "../member-access.ts";
import { binaryPath, plainCommand } from "../shell-grammar.ts";

const commandMethod = keyword(splitWords(`eval exec system spawn`));
/** Methods of ActiveSupport that change a text to the name of a class. */
const nameMethod = keyword(splitWords(`to_s classify camelize singularize`));

export const OBJECTS: readonly Pattern[] = [
  pattern("ruby.backtick", ["puts `", "print `", "{ `", "{`"], {
    catches: "a command in backticks that is printed, or that a block runs",
    finds: ["puts `id`", "print `uname -a`;", "x.each { `ls -l` }", "trap('x') {`/bin/ls`}"],
    ignores: [
      "The method puts `id` into the list",
      "inputs `id`",
      "It { `name` }",
      "The script puts `value`",
      "{ `ls -l",
    ],
    before: atWordStart,
    after: seq(
      choice(plainCommand, binaryPath),
      opt(seq(rws, except("`\n", 1, 60))),
      lit("`"),
      ows,
      choice(end, oneOf("};")),
    ),
  }),
  pattern("ruby.block-command", ["| eval ", "| exec ", "| system "], {
    catches: "a block that runs its parameter as code or as a command",
    finds: ["define_method(:x) { |c| eval c }", "proc { |x| system x }", "lambda { |x| exec x}"],
    ignores: ["a | exec b", "cat x | system y"],
    after: seq(identifier, ows, lit("}")),
  }),
  pattern("ruby.send", ["method(:", "send(:", "__send__(:"], {
    catches: "a method that runs code or a command, taken by its name",
    finds: [
      "method(:system).call('id')",
      "x.each(&method(:exec))",
      "send(:spawn, 'id')",
      "__send__(:eval, x)",
    ],
    ignores: ["method(:name)", "resend(:eval)", "method(:system_name)", "my_method(:exec)"],
    before: atWordStart,
    after: seq(commandMethod, ows, oneOf(",)")),
  }),
  pattern("ruby.send", ["const_get"], {
    catches: "a module that runs commands, taken by its name",
    finds: [
      "Object.const_get('Kernel')",
      "x.const_get ( :Process )",
      "x.const_get(:IO)",
      "x.const_get(:Open3)",
    ],
    ignores: ["Object.const_get(name)", "x.const_get(:User)", "my_const_get(:IO)"],
    before: atWordStart,
    after: seq(call, ows, choice(quote, lit(":")), keyword(splitWords(`kernel process io open3`))),
  }),
  pattern("ruby.send", ["params["], {
    catches: "a class that a request names",
    finds: [
      "params[:type].constantize",
      "params['x'].classify.constantize.new",
      "params[:a].to_s.camelize.safe_constantize",
      "params[:a].singularize.constantize",
    ],
    ignores: ["params[:type].to_s", "my_params[:x].constantize"],
    before: atWordStart,
    after: seq(
      except("]\n", 1, 30),
      lit("]"),
      times(0, 3, seq(dot, nameMethod)),
      dot,
      keyword(["constantize", "safe_constantize"]),
    ),
  }),
  pattern("ruby.eval", ["toplevel_binding"], {
    catches: "code run in the main object",
    finds: ["TOPLEVEL_BINDING.eval(x)", "TOPLEVEL_BINDING . eval 'x'"],
    ignores: ["What is TOPLEVEL_BINDING?", "MY_TOPLEVEL_BINDING.eval x"],
    before: atWordStart,
    after: seq(dot, keyword(["eval"])),
  }),
  pattern("ruby.eval", ["instructionsequence"], {
    catches: "code that is compiled and run",
    finds: [
      "RubyVM::InstructionSequence.compile(x).eval",
      "RubyVM::InstructionSequence . new ( x ).eval",
      "RubyVM::InstructionSequence.load_from_binary(x).eval",
    ],
    ignores: ["RubyVM::InstructionSequence.compile(x).disasm", "MyInstructionSequence.new(x).eval"],
    before: atWordStart,
    after: seq(
      dot,
      keyword(splitWords(`compile new load_from_binary`)),
      call,
      skipTo(seq(lit(")"), dot, keyword(["eval"])), 60, "\n"),
    ),
  }),
  pattern("ruby.syscall", ["syscall "], {
    catches: "a call of the kernel by its number, with a text",
    finds: ["syscall 59, '/bin/sh', 0", 'syscall 1 , "x"'],
    ignores: ["the syscall 59 runs a program", "my_syscall 59, 'x'"],
    before: atWordStart,
    after: seq(digits, ows, lit(","), ows, quote),
  }),
  pattern("ruby.syscall", ["fiddle"], {
    catches: "a function of the C library that runs commands",
    finds: ["Fiddle.dlopen(nil)['system']", "Fiddle::Handle.new['execve']"],
    ignores: ["Fiddle.dlopen('libm.so')['cos']", "I play the fiddle", "MyFiddle.x['system']"],
    precededBy: NOT_WORD,
    after: seq(
      oneOf(".:"),
      skipTo(seq(lit("["), quote, keyword(splitWords(`system execve`)), quote), 60, "\n"),
    ),
  }),
  pattern("ruby.unsafe-load", ["unsafe_load"], {
    catches: "YAML that may create any object",
    finds: ["YAML.unsafe_load(x)", "Psych.unsafe_load ( File.read('a.yml'))"],
    ignores: ["What does YAML.unsafe_load do?", "my_unsafe_load(x)"],
    before: atWordStart,
    after: call,
  }),
  pattern("ruby.unsafe-load", ["mode: :object"], {
    catches: "JSON that may create any object",
    finds: ["Oj.load(x, mode: :object)", "Oj.load(x, mode: :object )"],
    ignores: ["mode: :objects", "my_mode: :object)", "mode: :object is unsafe"],
    before: atWordStart,
    after: seq(ows, lit(")")),
  }),
  pattern("ruby.unsafe-load", ['"^o"', '"^c"'], {
    catches: "JSON with the name of the class of an object",
    from: "relaxed",
    finds: ['{"^o":"Gem::Installer"}', '{"^c" : "Kernel"}'],
    ignores: ['["^o", "x"]', '{"^o": 1}'],
    after: seq(ows, lit(":"), ows, quote),
  }),
  pattern("ruby.template", ["render inline:"], {
    catches: "a template from data of a request",
    finds: ["render inline: params[:x]", "render inline: request.body.read", "render inline: cookies[:x]"],
    ignores: ["render inline: '<p>Hello</p>'", "prerender inline: params[:x]"],
    before: atWordStart,
    after: seq(ows, keyword(splitWords(`params request cookies`))),
  }),
  pattern("ruby.remove-files", ["fileutils"], {
    catches: "all files of a directory by its absolute path, removed",
    finds: [
      "FileUtils.rm_rf('/')",
      "FileUtils . rm_r Dir.glob('/srv/*')",
      'FileUtils.rm_rf(Dir["/home/*"])',
      "FileUtils.remove_dir('/')",
    ],
    ignores: ["FileUtils.rm_rf('/tmp/build')", "FileUtils.rm_rf('dist')", "MyFileUtils.rm_rf('/')"],
    precededBy: NOT_WORD,
    after: seq(
      dot,
      keyword(splitWords(`rm_rf rm_r remove_dir`)),
      skipTo(quote, 12, "\n;"),
      lit("/"),
      choice(quote, skipTo(lit("*"), 40, "\"'\n")),
    ),
  }),
];
