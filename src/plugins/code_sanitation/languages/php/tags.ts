// PHP tags. A tag alone is ordinary in programs; a text that begins with one and has a statement in the same line is not.
import { choice, keyword, lit, oneOf, opt, seq, skipTo } from "../../combinators.ts";
import { afterOneOfAndOws } from "../../look-behind.ts";
import type { Matcher } from "../../matcher.ts";
import { pattern, type Pattern } from "../../pattern.ts";
import { end, ows } from "../../tokens.ts";
import { startsText } from "../lone-text.ts";

const STATEMENTS = [
  "echo",
  "print",
  "include",
  "require",
  "exec",
  "system",
  "eval",
  "passthru",
  "assert",
  "phpinfo",
  "die",
  "exit",
];
const statement: Matcher = choice(keyword(STATEMENTS), oneOf("$@`\"'(/#"));

export const TAGS: readonly Pattern[] = [
  pattern("php.open-tag", ["<?php", "<?="], {
    catches: "a text that begins with PHP in one line",
    finds: [
      '<?php echo "x"',
      "<?= 'x'",
      "';<?php $x = `id`; ?>",
      "<?php @system('id');",
      "<?php",
      "<?=`id`?>",
    ],
    ignores: [
      "<?php\n$rows = [1, 2];\necho count($rows);",
      "<ul><?php echo $x; ?></ul>",
      "<?php get_header(); ?>",
      "Start the file with <?php echo, then a name.",
    ],
    guard: startsText,
    after: choice(end, seq(opt(lit(" ")), statement)),
  }),
  pattern("php.open-tag", ["<?php", "<?="], {
    catches: "PHP after the end of a string, a tag or a file header",
    finds: ["x';<?php x", "]]<?= x", "}<?php x", "GIF89a;<?php x"],
    ignores: ["<b><?php echo $x ?></b>", "Use <?php x"],
    before: afterOneOfAndOws("'\"]};"),
  }),
  pattern("php.open-tag", ["<?"], {
    catches: "PHP with a short tag that prints or runs something",
    finds: ["<? echo 'x'; ?>", "<? system('id') ?>", "<?exec($c)", "<?$x", "<? @x"],
    ignores: ["<?xml version='1.0'?>", "<? and ?>", "a <? b"],
    after: seq(ows, choice(keyword(STATEMENTS), oneOf("$@"))),
  }),
  pattern("php.open-tag", ["<?php"], {
    catches: "PHP that runs a command in backticks",
    finds: ["<html><?php $out = `ls $x`; ?>", "<p><?php echo `id`"],
    ignores: ["<?php\n$sql = 'SELECT `name` FROM t';", "<?php\n// the `x` option\n"],
    after: skipTo(seq(choice(lit("="), lit("echo")), ows, lit("`")), 60, "?"),
  }),
  pattern("php.open-tag", ["<?xml"], {
    catches: "PHP in an XML processing instruction",
    finds: ["<?xml :print 2;", "<?xml:print 2;"],
    ignores: ['<?xml version="1.0" encoding="UTF-8"?>'],
    after: seq(ows, lit(":")),
  }),
  pattern("php.block-tag", ["[php]", "[/php]", "{php}", "{/php}"], {
    catches: "a template tag whose content is PHP",
    finds: ["[php]x", "x[/php]", "{php}x", "x{/php}"],
    ignores: ["[phpunit]", "{phpdoc}"],
  }),
];
