// PHP variables that are called, variables of the request, stream wrappers, serialized objects, directives and uploads.
import { uploadedName } from "../uploaded-name.ts";
import { DIGIT, isInClass, QUOTE, WHITESPACE, WORD } from "../../char-classes.ts";
import { EQUALS, OPEN_PAREN } from "../../char-codes.ts";
import { charSet, charSetHas, NOT_WORD } from "../../char-set.ts";
import {
  choice,
  except,
  keyword,
  lit,
  not,
  oneOf,
  opt,
  run,
  seq,
  skipTo,
  times,
  where,
} from "../../combinators.ts";
import { endOfWord, splitWords } from "../../keyword-set.ts";
import { atWordStart, wordBefore, type LookBehind } from "../../look-behind.ts";
import { NO_MATCH } from "../../matcher.ts";
import { unitAt, type NormalizedText } from "../../normalized-text.ts";
import { pattern, type Pattern } from "../../pattern.ts";
import { digits, end, identifier, ows, owsAndComments, quote } from "../../tokens.ts";
import { endsText, loneLiterals, startsText } from "../lone-text.ts";

const SUPERGLOBALS = splitWords(
  "$_get $_post $_request $_cookie $_files $_env $_server $_session $http_raw_post_data $http_get_vars $http_post_vars $globals",
);
const WRAPPERS = splitWords(`
  php phar zip compress.zlib compress.bzip2 expect glob rar ogg ssh2.shell ssh2.exec ssh2.tunnel ssh2.sftp
  ssh2.scp zlib data
`);

const subscript = choice(
  seq(owsAndComments, lit("["), except("[]\n", 0, 24), lit("]")),
  seq(lit("{"), except("}\n ", 0, 12), lit("}")),
);
const SUBSCRIPT_STARTS = charSet(WHITESPACE, "[{/#");
const SUBSCRIPT_AFTER_SPACE = charSet(WHITESPACE, "[/#");
/** Returns false for most variables of programs: no subscript follows the name. */
function mayHaveSubscript(input: NormalizedText, at: number): boolean {
  const nameEnd = endOfWord(input, at);
  const next = unitAt(input, nameEnd);
  if (!charSetHas(SUBSCRIPT_STARTS, next)) return false;
  return !isInClass(next, WHITESPACE) || charSetHas(SUBSCRIPT_AFTER_SPACE, unitAt(input, nameEnd + 1));
}
/** Returns false for most variables of programs: neither a parenthesis nor `=` follows the name directly. */
function isCalledOrAssigned(input: NormalizedText, at: number): boolean {
  const next = unitAt(input, endOfWord(input, at));
  return next === OPEN_PAREN || next === EQUALS;
}
const callParen = seq(owsAndComments, lit("("));
/** What an attacker passes to a function whose name is computed. */
const injectedArgument = seq(
  ows,
  choice(
    lit("$_"),
    seq(
      quote,
      keyword(["id", "ls", "whoami", "uname", "cat", "dir", "pwd", "env", "ps", "net", "curl", "sh"]),
    ),
  ),
);

const requestBody = lit("php://input");
const READERS = new Set(["file_get_contents", "fopen"]);
/** Programs read the body of a request with `file_get_contents('php://input')`. */
const unlessRequestBody: LookBehind = (input, at) => {
  if (atWordStart(input, at) < 0) return NO_MATCH;
  const isRead = isInClass(unitAt(input, at - 1), QUOTE) && unitAt(input, at - 2) === OPEN_PAREN;
  const isRequestBody = isRead && READERS.has(wordBefore(input, at - 2)) && requestBody(input, at) >= 0;
  return isRequestBody ? NO_MATCH : at;
};

export const VARIABLES: readonly Pattern[] = [
  pattern("php.superglobal", SUPERGLOBALS, {
    catches: "a variable of the request that is called, run, or inserted into a string",
    finds: ["$_GET['f']('id')", "${$_POST}['x']('y')", "$_REQUEST [ 'f' ] ( $x )", "$GLOBALS{'x'}('y')"],
    ignores: [
      "$name = $_POST['name'];",
      "if (isset($_GET['id'])) { echo 1; }",
      "x $_SERVER['REQUEST_METHOD']",
    ],
    after: seq(opt(lit("}")), times(1, 3, subscript), callParen),
  }),
  pattern("php.superglobal", SUPERGLOBALS, {
    catches: "a text that consists of a variable of the request",
    finds: ["$_GET['c']", ';{$_GET["run"]}', "`$_POST[x]`", "${$_GET}['x']"],
    ignores: ["$id = $_GET['id'];", "$_GET['id'] is a string", "What is $_GET?"],
    guard: startsText,
    after: seq(opt(lit("}")), ows, oneOf("[{"), skipTo(seq(oneOf("]}"), endsText), 40)),
  }),
  pattern("php.variable-function", ["$"], {
    catches: "a function whose name is in a variable of a variable or in an expression",
    from: "relaxed",
    finds: [
      "$$f('x')",
      "$$$fn(4)",
      "${'fn'}(4)",
      "${@$fn}(4)",
      "${$list}['fn'](4)",
      "${_X._Y}(4)",
      "$fn(4).$fn(5)",
      "$r=@$fn(4)",
    ],
    ignores: ["x = $total(5)", "cost: $$ (two dollars)", "`${name}(x)`", "$a = $f(1);", "$x{0}"],
    after: choice(
      seq(times(1, 3, lit("$")), identifier, callParen),
      seq(lit("{"), ows, oneOf("'\"@$_"), except("{}\n", 0, 24), lit("}"), times(0, 3, subscript), callParen),
      where(
        isCalledOrAssigned,
        seq(
          identifier,
          choice(seq(lit("("), digits, lit(")"), ows, lit("."), ows, lit("$")), lit("=@$")),
          identifier,
          lit("("),
        ),
      ),
    ),
  }),
  pattern("php.variable-function", ["$"], {
    catches: "a function from an array that is called with a command or with data of the request",
    finds: ["$f['g']('id')", "$f[0] ( $_GET['x'])", "$f{0}('whoami')"],
    ignores: ["x = $handlers['x']($row)", "x = $f('id')", "$rows[0]['id']"],
    after: where(mayHaveSubscript, seq(identifier, times(1, 3, subscript), callParen, injectedArgument)),
  }),
  pattern("php.variable-function", ["$"], {
    catches: "a text that consists of a call of a variable, or of a variable in braces",
    finds: [
      "$list['fn'](4)",
      "$list[@4]/*y*/[@k] ()",
      "$fn (4)",
      "$fn\n (4)",
      "$   {$name}",
      "$ {'na'.'me'}",
      "$ {  NAME  }",
    ],
    ignores: ["$x = $list['fn'](4);", "$total (in euros) is high", "It costs $ {x}", "$f(x) = x^2$"],
    guard: startsText,
    after: choice(
      seq(identifier, times(0, 3, subscript), owsAndComments, loneLiterals),
      seq(
        run(WHITESPACE, 1, 4),
        lit("{"),
        ows,
        choice(seq(lit("$"), identifier), seq(quote, except("}\n", 0, 40)), identifier),
        ows,
        lit("}"),
        endsText,
      ),
    ),
  }),
  pattern("php.variable-function", ["($"], {
    catches: "a variable in parentheses that is called with a text",
    finds: ["($y)('uname')", "($y) ($_GET['x'])", "($y . $z)('uname')"],
    ignores: ["($this->handler)('x')", "f($y)('x')", "($a) (b)"],
    precededBy: NOT_WORD,
    after: seq(
      identifier,
      opt(seq(ows, lit("."), ows, lit("$"), identifier)),
      lit(")"),
      ows,
      lit("("),
      choice(quote, lit("$_")),
    ),
  }),
  pattern(
    "php.wrapper",
    WRAPPERS.map((name) => `${name}://`),
    {
      catches: "a stream wrapper that reads files, filters or runs commands",
      finds: [
        "php://filter/read=x",
        "phar://x.zip/y",
        "zip://x.zip",
        "expect://id",
        "data://text/plain,x",
        "compress.zlib://./x",
      ],
      ignores: [
        "$x = fopen('php://stdin', 'r')",
        "$x = file_get_contents('php://input');",
        "php://memory",
        "php://stdout",
        "php://stderr",
        "php://output",
        "php://temp",
        "myphp://x",
        "the zip:// scheme",
      ],
      before: unlessRequestBody,
      after: seq(
        not(keyword(["stdin", "stdout", "stderr", "output", "memory", "temp"])),
        choice(identifier, oneOf("/.")),
      ),
    },
  ),
  pattern("php.serialised-object", ["o:", "c:"], {
    catches: "a serialized PHP object",
    finds: ['O:8:"stdClass":0:{}', 'C:3:"App\\Job":5:{x}', 'O:7:"App\\new":0:{}', "O:+3:'Foo':1:{s"],
    ignores: ["o:8:x", 'foo:8:"stdClass":0:{', "c:\\temp"],
    before: atWordStart,
    after: seq(
      opt(lit("+")),
      run(DIGIT, 1, 5),
      lit(":"),
      quote,
      run(WORD, 1, 40),
      opt(seq(lit("\\"), run(WORD, 1, 40))),
      quote,
      lit(":"),
      digits,
      lit(":{"),
    ),
  }),
  pattern(
    "php.directive",
    splitWords("allow_url_include auto_prepend_file auto_append_file disable_functions open_basedir"),
    {
      catches: "a directive that an attacker sets to include or run files",
      finds: [
        "-d allow_url_include=1",
        "auto_prepend_file=php://input",
        "auto_append_file = /tmp/x",
        "disable_functions=",
        "open_basedir=none",
        "allow_url_include=on",
      ],
      ignores: [
        "allow_url_include = Off\n",
        "open_basedir == x",
        "What is open_basedir?",
        "my_open_basedir=none",
        "disable_functions = exec,passthru",
      ],
      before: atWordStart,
      after: seq(
        ows,
        lit("="),
        ows,
        choice(end, lit("1"), lit("php:"), lit("/tmp"), keyword(["on", "none"])),
      ),
    },
  ),
  pattern(
    "php.directive",
    splitWords("opcache. mbstring. suhosin. session. zend. safe_mode engine extension_dir smtp"),
    {
      catches: "a text that consists of a directive of the PHP configuration",
      finds: [
        "opcache.jit=50",
        "mbstring.x=true",
        "suhosin.x=1",
        "extension_dir=/x",
        "session.x=1",
        "zend.x=1",
        "safe_mode=0",
        "engine=off",
        "smtp=192.0.2.1",
      ],
      ignores: [
        "[opcache]\nopcache.enable=1\nopcache.jit=50",
        "engine=v8 x",
        "extension=intl",
        "engine == true",
      ],
      guard: startsText,
      after: seq(run(WORD, 0, 40), ows, lit("="), run(WORD, 0, 24), except(" \n=", 0, 40), endsText),
    },
  ),
  pattern("php.session-file", ["/sess_"], {
    catches: "the path of a session file",
    finds: ["/tmp/sess_0123456789abcdef0123456789"],
    ignores: ["/tmp/sess_1", "/sess_data/file"],
    after: run(WORD, 20, 40),
  }),
  pattern("php.upload", ["filename"], {
    catches: "an uploaded file that a web server runs",
    finds: [
      'filename="x.php"',
      'filename="x.php.jpg"',
      'filename="x.php.png"',
      "filename='x. php5.gif'",
      'filename="x.phtml "',
      'filename="x.htaccess"',
    ],
    ignores: ['filename="x.png"', 'myfilename="x.php"', "filename = 'x.php'", 'filename="php notes.txt"'],
    before: atWordStart,
    after: uploadedName(seq(choice(lit("phtml"), lit("php"), lit("htaccess")), run(WORD, 0, 2))),
  }),
];
