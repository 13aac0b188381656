// PHP calls that run code or commands, and probes that consist of a call.
import { isInClass, WORD } from "../../char-classes.ts";
import { OPEN_PAREN } from "../../char-codes.ts";
import { choice, keyword, lit, oneOf, opt, run, seq, skipTo, times } from "../../combinators.ts";
import { splitWords } from "../../keyword-set.ts";
import { atWordStart, wordBefore, type LookBehind } from "../../look-behind.ts";
import { NO_MATCH } from "../../matcher.ts";
import { unitAt } from "../../normalized-text.ts";
import { pattern, type Pattern } from "../../pattern.ts";
import { digits, ows, owsAndComments, quote } from "../../tokens.ts";
import { call, calledOn, callOfValue, callPatterns, inQuotesOrBrackets } from "../calls.ts";
import { endsText, loneArguments, startsTextOrWord } from "../lone-text.ts";
import { parenthesesSpell } from "../split-names.ts";

/** Functions that run commands or code, and that only PHP has. */
const COMMAND_FUNCTIONS = splitWords(`
  passthru shell_exec proc_open pcntl_exec create_function ssh2_exec
`);
/** Functions that a string or an expression may name before it is called. */
export const CALLABLES = splitWords(`
  system exec passthru shell_exec eval phpinfo popen proc_open call_user_func create_function assert
`);
/** Beginnings of the names of PHP functions that scanners call: a text that consists of such a call is a probe. */
const PROBED_FAMILIES = splitWords(`
  apache_  call_user_func  convert_uu curl_  dba_ debug_ disk_ error_ escapeshell
  exif_  file_ filegroup fileowner fileperms   fpassthru   fsockopen ftp_ func_get_
  get_defined_ getenv gethostby getmyuid getmypid  gzinflate gzuncompress gzdecode  highlight_  imap_ ini_
  ldap_  mcrypt_ move_uploaded_ mysql_ mysqli_ ob_ oci_ odbc_ opcache_ openssl_ parse_ pcntl_ pfsockopen pg_
  php_uname phpinfo phpversion popen posix_ preg_ proc_ putenv readfile readlink register_ runkit_ scandir 
  session_ set_time_limit shm_ show_source simplexml_ socket_ sqlite_ ssh2_ str_rot13    stream_  strrev symlink
  tempnam  tmpfile unserialize   xml_ zlib_ base64_decode
`);
/** Functions that ordinary snippets call too: only a call without a real argument is a probe. */
const ORDINARY_FAMILIES = splitWords(`
  base64_ checkdate date_ fclose fopen fputs fread filter_ hash_ iconv_ mb_ gmp_ serialize str_replace str_repeat str_split
  strip_tags utf8_ var_dump tidy_
`);

/** Matches at the `)` of `(NAME)` that is not the argument of a call. */
const constantInParentheses: LookBehind = (input, at) => {
  const open = at - wordBefore(input, at).length - 1;
  const isGroup = open < at - 1 && unitAt(input, open) === OPEN_PAREN;
  return isGroup && !isInClass(unitAt(input, open - 1), WORD) ? open : NO_MATCH;
};

export const CALLS: readonly Pattern[] = [
  ...callPatterns("php.eval", ["eval", "exec", "system"], [], {
    catches: "a call that runs code or a command",
    finds: ["eval()", "eval($x)", "system('id')", "exec ( 'id' )", "exec (x)", "exec //x\n (y)", "system()"],
    ignores: [
      "Our operating system (Linux) is old.",
      "the file system(s)",
      "$stmt->exec($sql)",
      "function system($name) {",
      "DB::exec('x')",
      'system("pause");',
      "Run system(...) first.",
    ],
  }),
  pattern("php.call", COMMAND_FUNCTIONS, {
    catches: "a call of a function that runs a command",
    finds: [
      "shell_exec($c)",
      "passthru ( 'id' )",
      "proc_open/**/($c)",
      "create_function('', $c)",
      "pcntl_exec('/bin/sh')",
      "ssh2_exec($c, 'id')",
    ],
    ignores: ["$ssh->shell_exec($c)", "function passthru($c)", "What is shell_exec?", "my_shell_exec($c)"],
    before: calledOn([]),
    after: call,
  }),
  pattern("php.call", ["popen"], {
    catches: "a command started from a text",
    finds: ["popen('id', 'r')", "popen ( $c"],
    ignores: ["subprocess.popen('x')", "$x = popen(args)"],
    before: calledOn([]),
    after: seq(call, ows, choice(quote, lit("$"))),
  }),
  pattern("php.lone-call", PROBED_FAMILIES, {
    catches: "a text that consists of a call of a PHP function",
    finds: [
      "strrev( x )",
      "base64_decode('eA==')",
      "';curl_init(x);//",
      "curl_init($url)",
      "xfsockopen(1)",
      "gethostbyaddr(",
      "phpversion/*y*/(1)",
      "file_exists (\n5)",
    ],
    ignores: [
      "$name = strrev($text);",
      "echo base64_decode($x);\necho 1;",
      "Call strrev() first.",
      "file_exists(x) is slow",
    ],
    guard: startsTextOrWord,
    after: seq(run(WORD, 0, 24), owsAndComments, loneArguments),
  }),
  pattern("php.lone-call", ORDINARY_FAMILIES, {
    catches: "a text that consists of a call of a PHP function without a real argument",
    finds: ["base64_encode()", "checkdate/*y*/(1)", "';mb_strlen ( );//"],
    ignores: ["fopen('rows.csv', 'r')", "var_dump($row);", "x = hash_algos()", "date_create() is old"],
    guard: startsTextOrWord,
    after: seq(run(WORD, 0, 24), owsAndComments, lit("("), ows, opt(digits), ows, lit(")"), endsText),
  }),
  pattern("php.decoded-code", ["gzinflate", "gzuncompress", "str_rot13", "base64_decode"], {
    catches: "code or data that is decoded twice, as in hidden scripts",
    from: "relaxed",
    finds: [
      "gzinflate(base64_decode('x'))",
      "gzuncompress ( base64_decode('x'))",
      "str_rot13(base64_decode('x'))",
      "base64_decode(str_rot13('x'))",
      "base64_decode(strrev('x'))",
      "gzinflate(str_rot13(base64_decode($x)))",
    ],
    ignores: ["$x = base64_decode($token)", "$x = gzinflate($data)", "$x = my_gzinflate(base64_decode('x'))"],
    before: atWordStart,
    after: seq(call, ows, keyword(["base64_decode", "str_rot13", "strrev"]), call),
  }),
  pattern("php.callable-string", CALLABLES, {
    catches: "the name of a function in quotes or brackets that is called",
    from: "relaxed",
    finds: [
      "\"system\"('id')",
      "('system')('id')",
      "[system][0]('id')",
      "{[exec][0]} ('id')",
      "(string)'exec'('id')",
      "'system' ('id')",
    ],
    ignores: ["call 'system' (the function)", "run('system') ('x')", "['exec', 'eval']", "'systems'('x')"],
    before: inQuotesOrBrackets,
    after: callOfValue,
  }),
  pattern("php.split-name", [")(", ") ("], {
    catches: "the name of a function that is put together from pieces and called",
    from: "relaxed",
    finds: ["('sys'.'tem')('id')", "(sy.(st).em)('uname')", "('ex' . 'ec') ('id')"],
    ignores: ["(new Foo)('x')", "run('sys'.'tem')('x')", "($a.$b)(1)", "(first.second) (x)"],
    before: parenthesesSpell(CALLABLES),
  }),
  pattern("php.constant-call", [")["], {
    catches: "an element of a constant that is called",
    finds: ["(LIST)[1][2]('uptime')"],
    ignores: ["f(z)[0][0]('x')", "(z)[0]", "(a)[0](b)"],
    before: constantInParentheses,
    after: seq(digits, lit("]"), times(0, 2, seq(lit("["), digits, lit("]"))), ows, lit("("), quote),
  }),
  pattern(
    "php.callable-argument",
    splitWords(`array_map array_filter usort uasort uksort array_walk call_user_func call_user_func_array register_shutdown_function
      ob_start set_error_handler array_reduce`),
    {
      catches: "the name of a function that runs code, passed to a function that calls it",
      from: "relaxed",
      finds: [
        "array_filter([$x], 'system')",
        "array_map('system', $x)",
        "usort ( $x, 'exec')",
        'call_user_func( "assert", $x)',
      ],
      ignores: ["array_map('trim', $rows)", "$x = my_array_map('system')", "usort($rows, 'compare')"],
      before: atWordStart,
      after: seq(
        call,
        ows,
        opt(
          choice(
            seq(lit("$"), run(WORD, 1, 16), ows, lit(","), ows),
            seq(lit("["), skipTo(seq(lit("]"), ows, lit(","), ows), 40, "\n;")),
          ),
        ),
        quote,
        keyword(CALLABLES),
        quote,
      ),
    },
  ),
  pattern("php.include", ["include", "include_once", "require", "require_once"], {
    catches: "a file included from the request, another host or a stream",
    finds: [
      "include($_GET['p'])",
      "include_once 'http://x.example/a'",
      'require ( "php://input" )',
      "require_once 'data:text/plain,x'",
      "include 'https://x.example'",
      "include '\\\\host\\x'",
      "include '/tmp/x.php'",
      "include '/etc/x'",
      "include 'ftp://x.example'",
    ],
    ignores: [
      "include '../header.php';",
      'const x = require("../../../core/x.js");',
      "require_once __DIR__ . '/vendor/autoload.php';",
      '#include "lib/x.h"',
      "require('http')",
      "preinclude 'php:x'",
    ],
    before: atWordStart,
    after: seq(
      ows,
      opt(lit("(")),
      ows,
      choice(
        lit("$_"),
        seq(
          quote,
          choice(
            lit("http://"),
            lit("https://"),
            lit("ftp://"),
            lit("php:"),
            lit("data:"),
            lit("/tmp/"),
            lit("/etc/"),
            lit("\\\\"),
          ),
        ),
      ),
    ),
  }),
  pattern("php.assert", ["assert"], {
    catches: "a text that assert runs as code",
    finds: [
      "assert($_POST['x'])",
      "assert ( base64_decode($x))",
      "assert('system($x)')",
      'assert("eval(1)")',
    ],
    ignores: ["assert('a' == name)", "assert($x > 0)", "self.assert('system')", "reassert($_POST)"],
    before: calledOn([]),
    after: seq(call, ows, choice(lit("$_"), lit("base64_"), seq(quote, keyword(CALLABLES), lit("(")))),
  }),
  pattern("php.preg-eval", ["preg_replace"], {
    catches: "a regular expression whose replacement is run as code",
    from: "relaxed",
    finds: [
      "preg_replace('/.*/e', $a, $b)",
      'preg_replace ( "/x/ie", $a, $b)',
      "preg_replace('/x/ei', $a, $b)",
    ],
    ignores: ["preg_replace('/[a-e]/i', '', $x)", "$x = my_preg_replace('/.*/e', $a)"],
    before: atWordStart,
    after: seq(
      call,
      ows,
      quote,
      skipTo(seq(lit("/"), times(0, 4, oneOf("imsxu")), lit("e"), times(0, 4, oneOf("imsxu")), quote), 60),
    ),
  }),
];
