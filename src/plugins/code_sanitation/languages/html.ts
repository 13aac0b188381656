// HTML patterns: script tags, event attributes, tags that load or embed content, styles with code, and XML that makes a parser
// load external resources.
import { LETTER, WHITESPACE } from "../char-classes.ts";
import {
  choice,
  except,
  keyword,
  lit,
  not,
  oneOf,
  opt,
  peek,
  run,
  seq,
  skipTo,
  times,
} from "../combinators.ts";
import { splitWords } from "../keyword-set.ts";
import { afterOneOfAndOws, atWordStart, type LookBehind } from "../look-behind.ts";
import { NO_MATCH, type Matcher } from "../matcher.ts";
import { unitAt } from "../normalized-text.ts";
import { pattern, type Pattern } from "../pattern.ts";
import { identifier, ows, quote, wordBoundary } from "../tokens.ts";
import { eventAttributePatterns, isInTag, scriptUrlPatterns, tagEnd } from "./markup.ts";

/** The rest of `the <script> tag`: prose about the tag. */
const mentionInProse: Matcher = seq(
  lit(">"),
  times(0, 2, oneOf("`'\"")),
  run(WHITESPACE, 1, 1),
  keyword(
    splitWords(`
    tag tags element elements block blocks section
  `),
  ),
  not(seq(ows, oneOf("=(;[{<"))),
);
const withAttributes: Matcher = seq(
  choice(run(WHITESPACE, 1, 1), lit("/"), quote),
  skipTo(lit("="), 120, ">"),
);
const inTag: LookBehind = (input, at) => (isInTag(input, at) ? at : NO_MATCH);
/** Matches where a CSS value can start. */
const inStyle = afterOneOfAndOws(":{;\"'=");

export const HTML: readonly Pattern[] = [
  pattern("html.script-tag", ["<script", "</script"], {
    after: seq(
      not(mentionInProse),
      choice(
        lit(">"),
        seq(choice(tagEnd, seq(ows, lit("/")), oneOf("+=~{")), opt(except("<>", 0, 60)), opt(lit(">"))),
      ),
    ),
  }),
  pattern("html.script-tag", ["script>"], {
    // `<` or `"` with the high bit set, as in `¼script>`: browsers that decoded the page as US-ASCII ignored the bit.
    before: (input, at) => (unitAt(input, at - 1) === 0xbc || unitAt(input, at - 1) === 0xa2 ? at : NO_MATCH),
  }),
  pattern("html.utf7", ["+adw-", " adw-"], { after: seq(opt(lit("/")), run(LETTER, 2, 12)) }),
  pattern(
    "html.embedding-tag",
    splitWords(`
  <iframe <frameset <applet <bgsound <ilayer <isindex <xss <v:vmlframe
`),
    {
      after: seq(tagEnd, not(seq(ows, keyword(["tag", "tags", "element"])))),
    },
  ),
  pattern("html.embedding-tag", ["<object", "<embed", "<frame", "<layer", "<portal"], {
    after: withAttributes,
  }),
  pattern("html.base-tag", ["<base"], { after: seq(ows, lit("href")) }),
  pattern("html.meta-refresh", ["<meta"], {
    after: seq(
      choice(run(WHITESPACE, 1, 1), lit("/")),
      skipTo(
        choice(
          seq(
            lit("http-equiv"),
            ows,
            lit("="),
            ows,
            opt(quote),
            choice(lit("refresh"), lit("set-cookie"), lit("content-type"), lit("link"), lit("x-ua")),
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
      skipTo(
        choice(
          lit("javascript"),
          lit("data:"),
          lit("import"),
          seq(
            lit("stylesheet"),
            opt(quote),
            ows,
            lit("href"),
            ows,
            lit("="),
            ows,
            opt(quote),
            choice(lit("//"), lit("http")),
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
        not(mentionInProse),
        skipTo(
          choice(lit("href"), seq(lit("attributename")), lit("values="), lit("ev:event"), lit("handler=")),
          80,
          ">",
        ),
      ),
    },
  ),
  pattern("html.xml-active", ["<xml ", "<xml>", "<xml:"], {
    after: skipTo(choice(lit("src="), lit("id="), lit("namespace"), lit("<i>"), lit("cdata")), 60),
  }),
  pattern(
    "html.namespace",
    splitWords(`
  xmlns:xi xi:include <?import <import xlink:href="data xlink:href="javascript
`),
  ),
  pattern("html.style-import", ["@import"], {
    after: seq(
      ows,
      opt(lit("url(")),
      opt(quote),
      choice(lit("http"), lit("//"), lit("data:"), lit("javascript"), lit("\\"), lit("%(")),
    ),
  }),
  pattern("html.style-expression", ["expression"], {
    before: inStyle,
    after: seq(wordBoundary, ows, lit("(")),
  }),
  pattern("html.style-behaviour", ["behavior", "-moz-binding", "-o-link"], {
    before: atWordStart,
    after: seq(ows, lit(":"), ows, choice(lit("url"), quote)),
  }),
  pattern("html.style-script", ["text/javascript", "text/x-scriptlet", "text/vbscript"], { before: inTag }),
  pattern(
    "html.srcdoc",
    splitWords(`
    srcdoc formaction dynsrc lowsrc datasrc datafld
  `),
    {
      before: inTag,
      after: seq(ows, lit("=")),
    },
  ),
  pattern("html.entity-declaration", ["<!entity"], {
    after: seq(
      run(WHITESPACE, 1, 2),
      opt(seq(lit("%"), run(WHITESPACE, 1, 2))),
      identifier,
      run(WHITESPACE, 1, 2),
      choice(lit("system"), lit("public"), quote),
    ),
  }),
  pattern("html.doctype-subset", ["<!doctype"], {
    after: seq(
      run(WHITESPACE, 1, 2),
      identifier,
      run(WHITESPACE, 1, 2),
      choice(
        lit("["),
        seq(
          choice(lit("system"), lit("public")),
          ows,
          quote,
          times(0, 1, choice(lit("http"), lit("file"), lit("//"))),
          skipTo(lit("["), 80, ">"),
        ),
      ),
    ),
  }),
  pattern("html.stylesheet-instruction", ["<?xml-stylesheet"]),
  pattern("html.server-side-include", ["<!--#"], {
    after: seq(
      ows,
      keyword(
        splitWords(`
    exec include echo set config printenv fsize
  `),
      ),
    ),
  }),
  pattern("html.conditional-comment", ["<!--[if", "<![if"], {
    after: skipTo(choice(lit("<script"), lit("<img"), lit("on")), 60),
  }),
  pattern(
    "html.close-breakout",
    splitWords(`
    </title </textarea </style </xmp </noscript </noembed
  `),
    {
      after: seq(
        ows,
        lit(">"),
        ows,
        peek(
          seq(
            lit("<"),
            opt(lit("/")),
            choice(
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
    after: seq(ows, lit("="), ows, opt(quote), skipTo(choice(lit("\\22"), lit("\\27"), lit("/*")), 60, ">")),
  }),
  ...eventAttributePatterns("html.event-attribute"),
  ...scriptUrlPatterns("html.script-address"),
];
