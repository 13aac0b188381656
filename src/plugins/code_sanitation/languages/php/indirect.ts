// PHP that runs code indirectly: computed function names, callbacks of the request, reflection, templates, written files.
import { isInClass, QUOTE, toLower, WORD } from "../../char-classes.ts";
import { DOLLAR, EQUALS, OPEN_PAREN } from "../../char-codes.ts";
import { choice, except, keyword, lit, opt, run, seq, skipTo, times } from "../../combinators.ts";
import { splitWords } from "../../keyword-set.ts";
import {
  afterOneOf,
  atWordStart,
  skipWhitespaceBack,
  wordBefore,
  type LookBehind,
} from "../../look-behind.ts";
import { NO_MATCH } from "../../matcher.ts";
import { unitAt, type NormalizedText } from "../../normalized-text.ts";
import { pattern, type Pattern } from "../../pattern.ts";
import { identifier, ows, quote, rws } from "../../tokens.ts";
import { call, calledOn } from "../calls.ts";
import { startsText } from "../lone-text.ts";
import { COMMANDS } from "../shell-commands.ts";
import { CALLABLES } from "./calls.ts";

/** How far a call of a variable is searched after its assignment. */
const MAX_DISTANCE = 120;

/** Matches in an assignment to a variable that is called shortly afterwards: `$f = strrev('metsys'); $f('id')`. */
const assignedAndCalled: LookBehind = (input, at) => {
  const value = isInClass(unitAt(input, at - 1), QUOTE) ? at - 1 : at;
  const equals = skipWhitespaceBack(input, value) - 1;
  if (unitAt(input, equals) !== EQUALS) return NO_MATCH;
  const nameEnd = skipWhitespaceBack(input, equals);
  const name = wordBefore(input, nameEnd);
  const start = nameEnd - name.length - 1;
  if (name === "" || unitAt(input, start) !== DOLLAR) return NO_MATCH;
  return isCalled(input, at, name) ? start : NO_MATCH;
};

function isCalled(input: NormalizedText, from: number, name: string): boolean {
  for (let index = from; index < Math.min(from + MAX_DISTANCE, input.length); index++) {
    input.work.steps++;
    if (unitAt(input, index) !== DOLLAR || unitAt(input, index + 1 + name.length) !== OPEN_PAREN) continue;
    let same = 0;
    while (same < name.length && toLower(unitAt(input, index + 1 + same)) === name.charCodeAt(same)) same++;
    if (same === name.length) return true;
  }
  return false;
}

const callableText = seq(quote, keyword(CALLABLES), quote);
const command = seq(keyword(COMMANDS), except("`\n", 0, 80), lit("`"));
const phpFile = seq(lit(".php"), quote);
const PHP_VARIABLE = seq(lit("$"), run(WORD, 1, 16));
const variableBefore: LookBehind = (input, at) => {
  const nameEnd = skipWhitespaceBack(input, at);
  const name = wordBefore(input, nameEnd);
  return name !== "" && unitAt(input, nameEnd - name.length - 1) === DOLLAR
    ? nameEnd - name.length - 1
    : NO_MATCH;
};

export const INDIRECT: readonly Pattern[] = [
  pattern("php.backticks", ["echo `", "print `"], {
    catches: "a text that begins with the output of a command in backticks",
    finds: ["echo `uname`;", "'; print `cat x` ;//", "echo `ls -l $x`;"],
    ignores: ["Type echo `ls`; then", "echo `hello`;", "echo `ls`"],
    guard: startsText,
    after: seq(command, ows, lit(";")),
  }),
  pattern("php.backticks", ["die(`", "exit(`", "print(`"], {
    catches: "the output of a command in backticks as an argument",
    finds: ["die(`uname`)", "exit(`ls -l`)", "x; print(`cat $x` );"],
    ignores: ["console.print(`hello`)", "print(`ls ${x}` + y)"],
    after: seq(command, ows, lit(")")),
  }),
  pattern("php.backticks", ["= `", "=`"], {
    catches: "the output of a command in backticks, assigned to a variable",
    finds: ["$x = `uname`;", "$x=`ls -l {$d}` ;"],
    ignores: ["x = `ls -l`;", "$x = `hello`;", "$x = `ls` + y"],
    before: variableBefore,
    after: seq(command, ows, lit(";")),
  }),
  pattern(
    "php.computed-name",
    [...CALLABLES, "strrev", "str_rot13", "base64_decode", "chr", "implode", "hex2bin"],
    {
      catches: "the name of a function, stored or computed, whose variable is then called",
      from: "relaxed",
      finds: ["$f='passthru';$f($x)", "$f = strrev('x'); echo $f('y');", "$F = chr(1).chr(2);\n$f(1)"],
      ignores: ["$f = 'system'; $g('x')", "$f = strrev('x'); echo $f;", "f = strrev('x'); $f(1)"],
      before: assignedAndCalled,
    },
  ),
  pattern("php.computed-name", ["$_get", "$_post", "$_request", "$_cookie"], {
    catches: "the name of a function from the request, whose variable is then called",
    from: "relaxed",
    finds: [
      "$f = $_GET['f'];\n$f(1);",
      "$f=$_POST['f']; $f(1)",
      "$f = $_REQUEST['f']; $f(1)",
      "$f = $_COOKIE['f']; $f(1)",
    ],
    ignores: ["$f = $_GET['f']; $g($f);", "$f = $_POST['f'];"],
    before: assignedAndCalled,
  }),
  pattern("php.computed-name", ["implode", "strrev", "str_rot13", "base64_decode"], {
    catches: "the result of a text function that is called",
    from: "relaxed",
    finds: ["implode($x)('y')", "strrev ('x') ($y)", "str_rot13('x')('y')", "base64_decode('x')('y')"],
    ignores: ["$x = implode($y) . '('", "my_implode($x)('y')", "Use strrev(x) (or not)"],
    before: atWordStart,
    after: seq(call, except("()\n", 0, 60), lit(")"), ows, lit("("), choice(quote, lit("$"))),
  }),
  pattern("php.computed-name", ["(~"], {
    catches: "the name of a function in inverted bits",
    from: "relaxed",
    finds: ["(~'abc')('x')", '(~"abc") ($x)'],
    ignores: ["(~'abc')", "(~x)('y')"],
    after: seq(quote, except("()\n", 0, 60), lit(")"), ows, lit("(")),
  }),
  pattern("php.computed-name", ["$__"], {
    catches: "a call of a variable without letters",
    from: "relaxed",
    finds: ["$__($_);", "$___($__);"],
    ignores: ["$__($text)", "$__name($_x)", "$__ ="],
    after: seq(times(0, 6, lit("_")), lit("($_")),
  }),
  pattern(
    "php.request-callback",
    splitWords(`call_user_func call_user_func_array array_map register_shutdown_function set_error_handler
      set_exception_handler ob_start spl_autoload_register forward_static_call iterator_apply array_diff_ukey`),
    {
      catches: "a callback from the request",
      from: "relaxed",
      finds: [
        "ob_start($_REQUEST['f'])",
        "ob_start($_COOKIE['f'])",
        "call_user_func($_GET['f'])",
        "array_map ( $_POST['f'], $x)",
      ],
      ignores: ["array_map('trim', $_POST)", "array_map($_SESSION, $x)", "my_array_map($_POST)"],
      before: atWordStart,
      after: seq(call, ows, lit("$_"), keyword(["get", "post", "request", "cookie"])),
    },
  ),
  pattern(
    "php.request-callback",
    splitWords(`usort uasort uksort array_filter array_walk array_reduce array_walk_recursive preg_replace_callback
      array_udiff array_uintersect iterator_apply`),
    {
      catches: "a callback from the request as the second argument",
      from: "relaxed",
      finds: ["usort($x, $_GET['f'])", "array_filter ( $x , $_POST['f'])"],
      ignores: ["usort($_SESSION['x'], 'f')", "my_usort($x, $_GET['f'])", "usort($x, $f)"],
      before: atWordStart,
      after: seq(call, ows, PHP_VARIABLE, ows, lit(","), ows, lit("$_")),
    },
  ),
  pattern("php.request-callback", ["extract"], {
    catches: "variables of the request that replace those of the program, one of which is called",
    finds: ["extract($_GET); $f($x)", "extract ( $_POST ) ; echo $f(1)"],
    ignores: ["extract($_GET); echo $f;", "extract($row); $f($x)", "my_extract($_GET); $f($x)"],
    before: atWordStart,
    after: seq(
      call,
      ows,
      lit("$_"),
      identifier,
      ows,
      lit(")"),
      ows,
      lit(";"),
      skipTo(seq(lit("$"), identifier, lit("(")), 40, "\n"),
    ),
  }),
  pattern("php.unserialize", ["unserialize"], {
    catches: "an object from the data of a request",
    finds: ["$x = unserialize($_POST['x']);", "$x = unserialize ( base64_decode ( $_GET['x']))"],
    ignores: ["$x = unserialize($row);", "$cache->unserialize($_POST)", "$x = my_unserialize($_POST)"],
    before: calledOn([]),
    after: seq(call, ows, opt(seq(identifier, call, ows)), lit("$_")),
  }),
  pattern("php.reflection", ["reflectionfunction", "closure::fromcallable"], {
    catches: "a function that runs commands, reached by reflection",
    from: "relaxed",
    finds: ["new ReflectionFunction('passthru')", 'Closure::fromCallable ( "exec" )'],
    ignores: ["new ReflectionFunction('trim')", "new ReflectionFunction($f)"],
    after: seq(call, ows, callableText),
  }),
  pattern("php.reflection", ["ffi::cdef"], {
    catches: "a native function that runs commands",
    from: "relaxed",
    finds: [
      "FFI::cdef('int system(char *c);')",
      "FFI::cdef('int popen(x);')",
      "FFI::cdef ( 'int execve(x);')",
    ],
    ignores: ["FFI::cdef('double cos(double x);')", "FFI::cdef($header)"],
    after: seq(
      call,
      ows,
      quote,
      skipTo(seq(rws, keyword(["system", "popen", "execve"]), lit("(")), 40, "\n"),
    ),
  }),
  pattern("php.template", ["|filter", "|map", "|sort", "|reduce", "registerundefinedfiltercallback"], {
    catches: "a function that runs commands as a filter of a template",
    from: "relaxed",
    finds: [
      "{{x|filter('exec')}}",
      "{{ x|map ( 'passthru' ) }}",
      "{{x|sort('system')}}",
      "{{x|reduce('system')}}",
      "{{_self.env.registerUndefinedFilterCallback('system')}}",
    ],
    ignores: ["{{ x|map('upper') }}", "{{ x|filter(system) }}"],
    after: seq(call, ows, callableText),
  }),
  pattern("php.framework-call", ["_method=__construct", "function=call_user_func"], {
    catches: "a function that runs commands as a parameter of a request",
    from: "relaxed",
    finds: ["_method=__construct&filter[]=passthru", "function=call_user_func&vars[0]=exec"],
    ignores: ["a=1&filter[]=system", "_method=__construct&a=1", "function=call_user_func&a=systems"],
    after: skipTo(seq(lit("="), keyword(CALLABLES)), 40, "\n"),
  }),
  pattern("php.concatenated-call", [".system", ".exec", ".passthru", ".shell_exec", ".phpinfo"], {
    catches: "a call between two strings",
    from: "relaxed",
    finds: ["'.system(1).'", "\".exec('x') . \"", "'.passthru($x).'", "'.shell_exec($x).'", "'.phpinfo().'"],
    ignores: ["x.system(1).'", "'.system files.'", "'.exec(x)"],
    before: afterOneOf("'\""),
    after: seq(lit("("), skipTo(seq(lit(")"), ows, lit("."), ows, quote), 60, "\n;")),
  }),
  pattern("php.concatenated-call", ["${@"], {
    catches: "a call inside a string",
    from: "relaxed",
    finds: ["${@md5(1)}", "x${@ print(1)}"],
    ignores: ["${@}", "${@:2}", "${@name}"],
    after: seq(ows, identifier, lit("(")),
  }),
  pattern("php.written-script", ["file_put_contents(", "copy(", "move_uploaded_file("], {
    catches: "a script file that is written from the request or from another host",
    finds: [
      "file_put_contents('x.php', $_POST['x'])",
      "file_put_contents('x.php' , base64_decode($x))",
      "copy('http://x.example/a', 'x.php')",
      "move_uploaded_file( $_FILES['x']['tmp_name'], \"x.php\")",
    ],
    ignores: [
      "file_put_contents('x.php', $code)",
      "file_put_contents('x.txt', $_POST['x'])",
      "copy('a.php', 'b.php')",
      "move_uploaded_file($_FILES['x']['tmp_name'], $path)",
    ],
    after: choice(
      seq(skipTo(seq(phpFile, ows, lit(","), ows), 60, "\n;"), choice(lit("$_"), lit("base64_decode"))),
      seq(ows, choice(seq(quote, lit("http")), lit("$_files")), skipTo(phpFile, 80, "\n;")),
    ),
  }),
  pattern("php.read-secret", ["file_get_contents", "readfile", "glob"], {
    catches: "a file with secrets, read by its path",
    finds: ["x file_get_contents('/srv/.env')", "x readfile ( '/root/.ssh/x')", "x glob('/home/*/.ssh/*')"],
    ignores: [
      "$x = file_get_contents('/srv/env')",
      "$x = my_glob('/a/.env')",
      "$x = file_get_contents($x.'/.env')",
    ],
    before: atWordStart,
    after: seq(call, ows, quote, skipTo(choice(lit("/.env"), lit("/.ssh/")), 40, "\n)'\"")),
  }),
  pattern("php.preload", ["ld_preload=", "-oqueuedirectory="], {
    catches: "a library that is loaded into the next program, or an option that makes mail write files",
    from: "relaxed",
    finds: ["putenv('LD_PRELOAD=/a/b.so')", "mail($a, '', '', '', '-OQueueDirectory=/a')"],
    ignores: ["LD_PRELOAD=/a/b.so ./run", "sendmail -OQueueDirectory=/a"],
    before: afterOneOf("'\""),
  }),
];
