// HTML: script tags and event attributes, tags that load or embed, styles that run, and markup that makes a parser fetch.
import { LETTER } from "../char-classes.ts";
import {
  any,
  atWordStart,
  blanks,
  blanksBack,
  except,
  identifier,
  lit,
  not,
  oneOf,
  opt,
  peek,
  quote,
  run,
  seq,
  times,
  upTo,
  word,
  wordEnd,
  type Before,
  words,
} from "../grammar.ts";
import { pattern, type Pattern } from "../pattern.ts";
import type { Rule } from "../rule.ts";
import { unitAt } from "../view.ts";
import { eventHandlers, isInTag, scriptAddresses, tagEnd } from "./markup.ts";

/** `the <script> tag`: prose that speaks about the tag. */
const spokenOf: Rule = seq(
  lit(">"),
  times(0, 2, oneOf("`'\"")),
  run(8, 1, 1),
  word(
    words(`
    tag tags element elements block blocks section
  `),
  ),
  not(seq(blanks, oneOf("=(;[{<"))),
);
const withAttributes: Rule = seq(any(run(8, 1, 1), lit("/"), quote), upTo(lit("="), 120, ">"));
const inTag: Before = (view, at) => (isInTag(view, at) ? at : -1);
/** In a style: behind `:` or `{`, or in a tag. */
const inStyle: Before = (view, at) => {
  const before = unitAt(view, blanksBack(view, at) - 1);
  return before === 0x3a ||
    before === 0x7b ||
    before === 0x3b ||
    before === 0x22 ||
    before === 0x27 ||
    before === 0x3d
    ? at
    : -1;
};

export const HTML: readonly Pattern[] = [
  pattern("html.script-tag", ["<script", "</script"], {
    after: seq(
      not(spokenOf),
      any(
        lit(">"),
        seq(any(tagEnd, seq(blanks, lit("/")), oneOf("+=~{")), opt(except("<>", 0, 60)), opt(lit(">"))),
      ),
    ),
  }),
  pattern("html.script-tag", ["script>"], {
    before: (view, at) => (unitAt(view, at - 1) === 0xbc || unitAt(view, at - 1) === 0xa2 ? at : -1),
  }),
  pattern("html.utf7", ["+adw-", " adw-"], { after: seq(opt(lit("/")), run(LETTER, 2, 12)) }),
  pattern(
    "html.embedding-tag",
    words(`
  <iframe <frameset <applet <bgsound <ilayer <isindex <xss <v:vmlframe
`),
    {
      after: seq(tagEnd, not(seq(blanks, word(["tag", "tags", "element"])))),
    },
  ),
  pattern("html.embedding-tag", ["<object", "<embed", "<frame", "<layer", "<portal"], {
    after: withAttributes,
  }),
  pattern("html.base-tag", ["<base"], { after: seq(blanks, lit("href")) }),
  pattern("html.meta-refresh", ["<meta"], {
    after: seq(
      any(run(8, 1, 1), lit("/")),
      upTo(
        any(
          seq(
            lit("http-equiv"),
            blanks,
            lit("="),
            blanks,
            opt(quote),
            any(lit("refresh"), lit("set-cookie"), lit("content-type"), lit("link"), lit("x-ua")),
          ),
          lit("utf-7"),
          lit("utf7"),
          lit("x-imap4"),
          lit("mac-farsi"),
          lit("hz-gb"),
        ),
        80,
        ">",
      ),
    ),
  }),
  pattern("html.link-tag", ["<link"], {
    after: seq(
      withAttributes,
      upTo(
        any(
          lit("javascript"),
          lit("data:"),
          lit("import"),
          seq(
            lit("stylesheet"),
            opt(quote),
            blanks,
            lit("href"),
            blanks,
            lit("="),
            blanks,
            opt(quote),
            any(lit("//"), lit("http")),
          ),
        ),
        80,
        ">",
      ),
    ),
  }),
  pattern("html.link-tag", ["<link /", "<link/"]),
  pattern(
    "html.svg-active",
    [
      "<animate",
      "<set ",
      "<use ",
      "<foreignobject",
      "<handler",
      "<listener",
      "<animatetransform",
      "<animatemotion",
      "<maction",
      "<image ",
    ],
    {
      after: seq(
        not(spokenOf),
        upTo(
          any(lit("href"), seq(lit("attributename")), lit("values="), lit("ev:event"), lit("handler=")),
          80,
          ">",
        ),
      ),
    },
  ),
  pattern("html.xml-active", ["<xml ", "<xml>", "<xml:"], {
    after: upTo(any(lit("src="), lit("id="), lit("namespace"), lit("<i>"), lit("cdata")), 60),
  }),
  pattern(
    "html.namespace",
    words(`
  xmlns:xi xi:include <?import <import xlink:href="data xlink:href="javascript
`),
  ),
  pattern("html.style-import", ["@import"], {
    after: seq(
      blanks,
      opt(lit("url(")),
      opt(quote),
      any(lit("http"), lit("//"), lit("data:"), lit("javascript"), lit("\\"), lit("%(")),
    ),
  }),
  pattern("html.style-expression", ["expression"], {
    before: inStyle,
    after: seq(wordEnd, blanks, lit("(")),
  }),
  pattern("html.style-behaviour", ["behavior", "-moz-binding", "-o-link"], {
    before: atWordStart,
    after: seq(blanks, lit(":"), blanks, any(lit("url"), quote)),
  }),
  pattern("html.style-script", ["text/javascript", "text/x-scriptlet", "text/vbscript"], { before: inTag }),
  pattern(
    "html.srcdoc",
    words(`
    srcdoc formaction dynsrc lowsrc datasrc datafld
  `),
    {
      before: inTag,
      after: seq(blanks, lit("=")),
    },
  ),
  pattern("html.entity-declaration", ["<!entity"], {
    after: seq(
      run(8, 1, 2),
      opt(seq(lit("%"), run(8, 1, 2))),
      identifier,
      run(8, 1, 2),
      any(lit("system"), lit("public"), quote),
    ),
  }),
  pattern("html.doctype-subset", ["<!doctype"], {
    after: seq(
      run(8, 1, 2),
      identifier,
      run(8, 1, 2),
      any(
        lit("["),
        seq(
          any(lit("system"), lit("public")),
          blanks,
          quote,
          times(0, 1, any(lit("http"), lit("file"), lit("//"))),
          upTo(lit("["), 80, ">"),
        ),
      ),
    ),
  }),
  pattern("html.stylesheet-instruction", ["<?xml-stylesheet"]),
  pattern("html.server-side-include", ["<!--#"], {
    after: seq(
      blanks,
      word(
        words(`
    exec include echo set config printenv fsize
  `),
      ),
    ),
  }),
  pattern("html.conditional-comment", ["<!--[if", "<![if"], {
    after: upTo(any(lit("<script"), lit("<img"), lit("on")), 60),
  }),
  pattern(
    "html.close-breakout",
    words(`
    </title </textarea </style </xmp </noscript </noembed
  `),
    {
      after: seq(
        blanks,
        lit(">"),
        blanks,
        peek(
          seq(
            lit("<"),
            opt(lit("/")),
            any(
              lit("script"),
              lit("svg"),
              lit("img"),
              lit("iframe"),
              lit("style"),
              lit("textarea"),
              lit("xmp"),
              lit("html"),
              lit("noscript"),
            ),
          ),
        ),
      ),
    },
  ),
  pattern("html.style-breakout", ["style"], {
    before: inTag,
    after: seq(blanks, lit("="), blanks, opt(quote), upTo(any(lit("\\22"), lit("\\27"), lit("/*")), 60, ">")),
  }),
  ...eventHandlers("html.event-attribute"),
  ...scriptAddresses("html.script-address"),
];
