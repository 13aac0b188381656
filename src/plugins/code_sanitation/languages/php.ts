// PHP patterns: tags, calls that run code or commands, functions that decode data or access the network, request variables,
// stream wrappers and serialized objects.
import { DIGIT, WHITESPACE, WORD } from "../char-classes.ts";
import { NOT_WORD } from "../char-set.ts";
import { choice, except, keyword, lit, not, oneOf, opt, run, seq, skipTo, times } from "../combinators.ts";
import { splitWords } from "../keyword-set.ts";
import { atWordStart } from "../look-behind.ts";
import { pattern, type Pattern } from "../pattern.ts";
import { digits, end, identifier, ows, owsAndComments, quote, quoted, wordBoundary } from "../tokens.ts";
import { call, calledOn, callOfValue, callPatterns, inQuotesOrBrackets } from "./calls.ts";

/** Functions whose names are also words or belong to other languages: only a call in code matches. */
const AMBIGUOUS = ["eval", "exec", "system"];
/** Functions that only PHP has, and that run code, decode data, access the network or inspect the system. */
const DISTINCTIVE = splitWords(`
  passthru shell_exec popen proc_open pcntl_exec create_function call_user_func call_user_func_array
  base64_decode gzinflate gzuncompress gzdecode str_rot13 strrev convert_uudecode fsockopen pfsockopen
  curl_init curl_exec curl_multi_exec file_get_contents file_put_contents file_exists fputs fpassthru
  highlight_file show_source php_uname phpinfo phpversion posix_getpwuid posix_getegid
  posix_getuid posix_kill posix_setuid posix_mkfifo ini_set ini_restore putenv apache_setenv
  mb_send_mail gethostbyname gethostbyaddr unserialize filegroup fileowner fileperms
  move_uploaded_file get_defined_vars get_defined_functions  parse_str
  register_shutdown_function register_tick_function escapeshellcmd
  escapeshellarg ldap_get_entries ldap_search tidy_parse_string tidy_repair_string strip_tags
  simplexml_load_string ftp_connect ftp_get ftp_put ssh2_exec stream_socket_client checkdate date_add
  getmyuid set_time_limit disk_free_space error_log opcache_compile_file runkit_function_rename
 
`);
const SUPERGLOBALS = [
  "$_get",
  "$_post",
  "$_request",
  "$_cookie",
  "$_files",
  "$_env",
  "$http_raw_post_data",
  "$globals",
];
const WRAPPERS = splitWords(`
  php phar zip compress.zlib compress.bzip2 expect glob rar ogg ssh2.shell ssh2.exec ssh2.tunnel ssh2.sftp
  ssh2.scp zlib data
`);

const subscript = choice(
  seq(owsAndComments, lit("["), except("]\n", 0, 24), lit("]")),
  seq(lit("{"), except("}\n ", 0, 12), lit("}")),
);
const callParen = seq(owsAndComments, lit("("));
const CALLABLES = splitWords(`
  system exec passthru shell_exec eval phpinfo popen proc_open call_user_func create_function
`);

export const PHP: readonly Pattern[] = [
  pattern("php.open-tag", ["<?php", "<?="], {
    after: choice(end, oneOf("/\"'(@#;`"), run(WHITESPACE, 1, 1)),
  }),
  pattern("php.open-tag", ["<?"], {
    after: seq(
      ows,
      choice(
        keyword(
          splitWords(`
    echo exec system eval print include require if passthru
  `),
        ),
        oneOf("$@"),
      ),
    ),
  }),
  pattern("php.open-tag", ["<?xml"], { after: seq(ows, lit(":")) }),
  pattern("php.block-tag", ["[php]", "[/php]", "[\\php]", "{php}", "{/php}"]),
  ...callPatterns("php.eval", AMBIGUOUS, []),
  pattern("php.call", DISTINCTIVE, { before: calledOn([]), after: seq(wordBoundary, call) }),
  pattern(
    "php.call",
    splitWords(`
    base64_decode call_user_func fsockopen gzinflate shell_exec passthru
  `),
    { after: call },
  ),
  pattern("php.callable-string", CALLABLES, { before: inQuotesOrBrackets, after: callOfValue }),
  pattern(
    "php.callable-argument",
    splitWords(`
  array_map array_filter usort array_walk call_user_func register_shutdown_function ob_start
`),
    {
      before: atWordStart,
      after: seq(call, ows, quote, keyword(CALLABLES)),
    },
  ),
  pattern("php.include", ["include", "include_once", "require_once"], {
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
            lit("/"),
            lit("http://"),
            lit("https://"),
            lit("php:"),
            lit("data:"),
            lit("../"),
            lit("\\\\"),
          ),
        ),
      ),
    ),
  }),
  pattern("php.assert", ["assert"], {
    before: atWordStart,
    after: seq(lit("("), ows, choice(lit("$_"), lit("base64"), quote)),
  }),
  pattern("php.preg-eval", ["preg_replace"], {
    before: atWordStart,
    after: seq(
      call,
      ows,
      quote,
      skipTo(seq(lit("/"), times(0, 4, oneOf("imsxu")), lit("e"), times(0, 4, oneOf("imsxu")), quote), 60),
    ),
  }),
  pattern("php.superglobal", SUPERGLOBALS, { after: seq(opt(lit("}")), ows, oneOf("[{")) }),
  pattern("php.variable-function", ["$"], {
    after: choice(
      seq(times(1, 3, lit("$")), identifier, callParen),
      seq(
        identifier,
        choice(
          seq(times(1, 3, subscript), callParen),
          seq(lit("("), digits, lit(")"), lit("."), lit("$"), identifier, lit("(")),
          seq(lit("=@$"), identifier, lit("(")),
        ),
      ),
      seq(
        lit("{"),
        ows,
        choice(seq(oneOf("'\"@$_"), except("}\n", 0, 40), lit("}"))),
        times(0, 3, subscript),
        callParen,
      ),
      seq(
        run(WHITESPACE, 1, 1),
        lit("{"),
        ows,
        choice(lit("$"), quote, seq(identifier, run(WHITESPACE, 1, 1), lit("}"))),
      ),
      seq(keyword(["function", "func", "f_", "s_func"]), ows, lit("("), digits, lit(")")),
    ),
  }),
  pattern(
    "php.wrapper",
    WRAPPERS.map((name) => `${name}://`),
    { before: atWordStart, after: choice(identifier, oneOf("/.")) },
  ),
  pattern("php.serialised-object", ["o:", "c:"], {
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
    splitWords(`
  allow_url_include auto_prepend_file auto_append_file disable_functions open_basedir extension_dir
  opcache. mbstring. suhosin.
`),
    { before: atWordStart, after: seq(run(WORD, 0, 40), ows, lit("="), not(lit("="))) },
  ),
  pattern("php.cast-call", ["(string)"], {
    precededBy: NOT_WORD,
    after: seq(ows, choice(quoted(16), lit("{[")), skipTo(lit("("), 24, ";")),
  }),
  pattern("php.constant-call", [")[0][0]("]),
  pattern("php.session-file", ["/sess_"], { after: run(WORD, 20, 40) }),
];
