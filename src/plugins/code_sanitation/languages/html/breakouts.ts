// Markup that leaves the place where a text is inserted: it closes a value, a tag or a comment that it did not open.
import { LETTER } from "../../char-classes.ts";
import { keyword, lit, not, oneOf, peek, run, seq, skipTo } from "../../combinators.ts";
import { splitWords } from "../../keyword-set.ts";
import { pattern, type Pattern } from "../../pattern.ts";
import { ows } from "../../tokens.ts";
import { afterForeignTag, beforeAnyTag, tagEnd } from "./tag-grammar.ts";

const ACTIVE_TAGS = splitWords(`
  <img <svg <body <iframe <input <details <video <audio <math <object <embed <a <marquee <div <p <button
  <select <textarea <form <style <link
`);

export const BREAKOUTS: readonly Pattern[] = [
  pattern("html.breakout-script", ["<script"], {
    catches: "a script tag after the end of a tag or comment that the text did not open",
    from: "relaxed",
    finds: ['"><script>go()', "'/><script src=x", "--> <script >"],
    ignores: [
      "Where does the <script> tag belong?",
      '<a title="x"><scripted-tag>',
      '"><scriptorium',
      "x > <b>",
    ],
    before: afterForeignTag,
    after: tagEnd,
  }),
  pattern("html.breakout-tag", ACTIVE_TAGS, {
    catches: "a tag with an event attribute after the end of a tag that the text did not open",
    from: "relaxed",
    finds: ['"><img src=x onerror=go()>', "'><svg/onload=go()>", '"/><body onload = go()>'],
    ignores: ['<b title="x"><a online=2>', '"><button onclick={go}>', '"><img src=x>', '"><svg-icon one=2>'],
    start: afterForeignTag,
    after: skipTo(
      seq(oneOf(" \n/'\""), lit("on"), run(LETTER, 3, 24), ows, lit("="), not(lit("{"))),
      80,
      "<>",
    ),
  }),
  pattern(
    "html.close-breakout",
    splitWords("</title </textarea </style </xmp </noscript </noembed </script"),
    {
      catches: "the end of an element that the text did not open, and an active tag",
      finds: [
        "</title><script>",
        "x</textarea ><svg onload",
        "</style><img src=x",
        "</xmp><iframe src=x",
        "</noscript><script>",
        "</noembed><script>",
        "</script><svg/onload",
      ],
      ignores: [
        "<title>x</title><style>",
        "<noscript>x</noscript><img src='x'>",
        "</title><p>",
        "</style><imgs>",
      ],
      before: beforeAnyTag,
      after: seq(ows, lit(">"), ows, peek(seq(lit("<"), keyword(["script", "svg", "img", "iframe"])))),
    },
  ),
];
