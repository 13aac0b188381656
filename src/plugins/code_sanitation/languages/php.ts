// PHP: its tags, calls that run code or commands, functions that decode or reach out, request variables, stream wrappers
// and serialised objects.
import { DIGIT, WORD } from "../char-classes.ts";
import { NOT_WORD } from "../edge.ts";
import {
  any,
  atWordStart,
  blanks,
  blanksAndComments,
  digits,
  end,
  except,
  identifier,
  lit,
  not,
  oneOf,
  opt,
  quote,
  quoted,
  run,
  seq,
  times,
  upTo,
  word,
  wordEnd,
  words,
} from "../grammar.ts";
import { pattern, type Pattern } from "../pattern.ts";
import { asValue, call, calledOn, calledValue, callPatterns } from "./calls.ts";

/** Names that are words or belong to other languages too: only a call in code counts. */
const AMBIGUOUS = ["eval", "exec", "system"];
/** Names that only PHP has, of functions that run, decode, reach out, or look around. */
const DISTINCTIVE = words(`
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
const WRAPPERS = words(`
  php phar zip compress.zlib compress.bzip2 expect glob rar ogg ssh2.shell ssh2.exec ssh2.tunnel ssh2.sftp
  ssh2.scp zlib data
`);

const subscript = any(
  seq(blanksAndComments, lit("["), except("]\n", 0, 24), lit("]")),
  seq(lit("{"), except("}\n ", 0, 12), lit("}")),
);
const callsIt = seq(blanksAndComments, lit("("));
const CALLABLES = words(`
  system exec passthru shell_exec eval phpinfo popen proc_open call_user_func create_function
`);

export const PHP: readonly Pattern[] = [
  pattern("php.open-tag", ["<?php", "<?="], { after: any(end, oneOf("/\"'(@#;`"), run(8, 1, 1)) }),
  pattern("php.open-tag", ["<?"], {
    after: seq(
      blanks,
      any(
        word(
          words(`
    echo exec system eval print include require if passthru
  `),
        ),
        oneOf("$@"),
      ),
    ),
  }),
  pattern("php.open-tag", ["<?xml"], { after: seq(blanks, lit(":")) }),
  pattern("php.block-tag", ["[php]", "[/php]", "[\\php]", "{php}", "{/php}"]),
  ...callPatterns("php.eval", AMBIGUOUS, []),
  pattern("php.call", DISTINCTIVE, { before: calledOn([]), after: seq(wordEnd, call) }),
  pattern(
    "php.call",
    words(`
    base64_decode call_user_func fsockopen gzinflate shell_exec passthru
  `),
    { after: call },
  ),
  pattern("php.callable-string", CALLABLES, { before: asValue, after: calledValue }),
  pattern(
    "php.callable-argument",
    words(`
  array_map array_filter usort array_walk call_user_func register_shutdown_function ob_start
`),
    {
      before: atWordStart,
      after: seq(call, blanks, quote, word(CALLABLES)),
    },
  ),
  pattern("php.include", ["include", "include_once", "require_once"], {
    before: atWordStart,
    after: seq(
      blanks,
      opt(lit("(")),
      blanks,
      any(
        lit("$_"),
        seq(
          quote,
          any(lit("/"), lit("http://"), lit("https://"), lit("php:"), lit("data:"), lit("../"), lit("\\\\")),
        ),
      ),
    ),
  }),
  pattern("php.assert", ["assert"], {
    before: atWordStart,
    after: seq(lit("("), blanks, any(lit("$_"), lit("base64"), quote)),
  }),
  pattern("php.preg-eval", ["preg_replace"], {
    before: atWordStart,
    after: seq(
      call,
      blanks,
      quote,
      upTo(seq(lit("/"), times(0, 4, oneOf("imsxu")), lit("e"), times(0, 4, oneOf("imsxu")), quote), 60),
    ),
  }),
  pattern("php.superglobal", SUPERGLOBALS, { after: seq(opt(lit("}")), blanks, oneOf("[{")) }),
  pattern("php.variable-function", ["$"], {
    after: any(
      seq(times(1, 3, lit("$")), identifier, callsIt),
      seq(
        identifier,
        any(
          seq(times(1, 3, subscript), callsIt),
          seq(lit("("), digits, lit(")"), lit("."), lit("$"), identifier, lit("(")),
          seq(lit("=@$"), identifier, lit("(")),
        ),
      ),
      seq(
        lit("{"),
        blanks,
        any(seq(oneOf("'\"@$_"), except("}\n", 0, 40), lit("}"))),
        times(0, 3, subscript),
        callsIt,
      ),
      seq(run(8, 1, 1), lit("{"), blanks, any(lit("$"), quote, seq(identifier, run(8, 1, 1), lit("}")))),
      seq(word(["function", "func", "f_", "s_func"]), blanks, lit("("), digits, lit(")")),
    ),
  }),
  pattern(
    "php.wrapper",
    WRAPPERS.map((name) => `${name}://`),
    { before: atWordStart, after: any(identifier, oneOf("/.")) },
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
    words(`
  allow_url_include auto_prepend_file auto_append_file disable_functions open_basedir extension_dir
  opcache. mbstring. suhosin.
`),
    { before: atWordStart, after: seq(run(WORD, 0, 40), blanks, lit("="), not(lit("="))) },
  ),
  pattern("php.cast-call", ["(string)"], {
    prev: NOT_WORD,
    after: seq(blanks, any(quoted(16), lit("{[")), upTo(lit("("), 24, ";")),
  }),
  pattern("php.constant-call", [")[0][0]("]),
  pattern("php.session-file", ["/sess_"], { after: run(WORD, 20, 40) }),
];
