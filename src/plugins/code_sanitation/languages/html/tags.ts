// Tags that run, load or embed something.
import { LETTER, WHITESPACE } from "../../char-classes.ts";
import { choice, exact, except, keyword, lit, not, oneOf, opt, run, seq, skipTo } from "../../combinators.ts";
import { splitWords } from "../../keyword-set.ts";
import { atWordStart } from "../../look-behind.ts";
import { NO_MATCH, type Matcher } from "../../matcher.ts";
import { unitAt } from "../../normalized-text.ts";
import { pattern, type Pattern } from "../../pattern.ts";
import { ows, quote } from "../../tokens.ts";
import { startsText } from "../lone-text.ts";
import { inTag, mentionInProse, tagEnd } from "./tag-grammar.ts";

const space = run(WHITESPACE, 1, 1);
const withAttributes: Matcher = seq(choice(space, lit("/"), quote), skipTo(lit("="), 120, "<>"));
const assigned = seq(ows, lit("="), ows, opt(quote));
/** A URL that leads to another host or to code. */
const foreignUrl = choice(lit("//"), lit("http"), lit("javascript"), lit("data:"));

/** `<script` in Base64: only the characters that do not depend on what follows. */
const BASE64_SCRIPT = "PHNjcmlwd";
const base64Script = exact(BASE64_SCRIPT);

export const TAGS: readonly Pattern[] = [
  pattern("html.script-tag", ["<script", "</script"], {
    catches: "the start or end of a script",
    finds: [
      "<script>",
      "<SCRIPT src=//x.example>",
      "</script >",
      "<script/x>",
      "<script",
      "<script+x>",
      "<script> tag = 1",
    ],
    ignores: ["Where does the <script> tag belong?", "the `<script>` element", "<scripting>", "</scripts>"],
    after: seq(
      not(mentionInProse),
      choice(lit(">"), seq(choice(tagEnd, oneOf("+=~{")), opt(except("<>", 0, 60)), opt(lit(">")))),
    ),
  }),
  pattern("html.script-tag", ["script>"], {
    // `<` or `"` with the high bit set: browsers that decoded the page as US-ASCII ignored the bit.
    catches: "a script tag whose bracket has the high bit set",
    from: "relaxed",
    finds: ["\u00bcscript\u00be\u00bcscript>", "\u00a2script>"],
    ignores: ["typescript>", "a script> b"],
    before: (input, at) => (unitAt(input, at - 1) === 0xbc || unitAt(input, at - 1) === 0xa2 ? at : NO_MATCH),
  }),
  pattern("html.script-tag", [":script"], {
    catches: "a script tag with a namespace prefix",
    from: "relaxed",
    finds: ["<x:script xmlns:x='http://www.w3.org/1999/xhtml' src=x>", "<svg:script>"],
    ignores: ["npm run build:script now", "<a title='x' b:scripts>"],
    before: inTag,
    after: oneOf(" >/"),
  }),
  pattern("html.base64-script", ["phnjcmlwd"], {
    catches: "a text in Base64 that begins with a script tag",
    finds: ["PHNjcmlwdD5nbygpPC9zY3JpcHQ+", "data:x/y;base64,PHNjcmlwdCBzcmM9eD4="],
    ignores: ["phnjcmlwdd5nbygp", "xPHNjcmlwdD5nbygp"],
    before: atWordStart,
    after: (input, at) => base64Script(input, at - BASE64_SCRIPT.length),
  }),
  pattern("html.utf7", ["+adw-", " adw-"], {
    catches: "a tag in UTF-7",
    from: "relaxed",
    finds: ["+ADw-script+AD4-", "x ADw-/script"],
    ignores: ["roadw-x", "the ADW-2 model"],
    after: seq(opt(lit("/")), run(LETTER, 2, 12)),
  }),
  pattern(
    "html.embedding-tag",
    splitWords("<iframe <frameset <applet <bgsound <ilayer <isindex <xss <v:vmlframe"),
    {
      catches: "a tag that embeds another document, or a tag of proofs of concept",
      finds: [
        "<iframe src=x>",
        "<frameset>",
        "<applet code=x>",
        "<bgsound src=x>",
        "<ilayer>",
        "<isindex>",
        "<xss id=x>",
        "<v:vmlframe src=x>",
      ],
      ignores: ["an <iframe> tag", "the <iframe> element", "<framesets>", "Use an <iframe> tags list"],
      after: seq(not(mentionInProse), tagEnd),
    },
  ),
  pattern("html.embedding-tag", ["<object", "<embed", "<frame", "<layer", "<portal"], {
    catches: "a tag that embeds another document, with attributes",
    finds: ["<object data=x>", "<embed/src=x>", "<frame src=x>", "<layer src=x>", "<portal'src=x>"],
    ignores: ["List<Object> rows = load();", "<frame>", "an <object> has <b>"],
    after: withAttributes,
  }),
  pattern("html.base-tag", ["<base"], {
    catches: "a base address on another host",
    finds: [
      "<base href=//x.example>",
      '<base href = "http://x.example/">',
      "<base href=javascript:x>",
      "<base href=data:x>",
    ],
    ignores: ['<base href="/">', "<base target=_blank>"],
    after: seq(ows, lit("href"), assigned, foreignUrl),
  }),
  pattern("html.meta-refresh", ["<meta"], {
    catches: "metadata that redirects, sets cookies, or selects a character set that hides tags",
    finds: [
      "<meta http-equiv=refresh content=0>",
      '<META content=1 HTTP-EQUIV = "set-cookie">',
      "<meta http-equiv='link'>",
      "<meta/charset=utf-7>",
      "<meta charset=utf7>",
      "<meta charset=x-imap4-modified>",
      "<meta charset=mac-farsi>",
      "<meta charset=hz-gb-2312>",
    ],
    ignores: [
      '<meta http-equiv="Content-Type" content="text/html; charset=utf-8">',
      '<meta name="viewport" content="width=device-width">',
      "<metadata http-equiv=refresh>",
    ],
    after: seq(
      choice(space, lit("/")),
      skipTo(
        choice(
          seq(lit("http-equiv"), assigned, keyword(["refresh", "set", "link"])),
          lit("utf-7"),
          lit("utf7"),
          lit("x-imap4"),
          lit("mac-farsi"),
          lit("hz-gb"),
        ),
        80,
        "<>",
      ),
    ),
  }),
  pattern("html.link-tag", ["<link"], {
    catches: "a link to a script, a data URL or an HTML import",
    finds: [
      "<link rel=stylesheet href=javascript:x>",
      "<link rel='import' href=x>",
      "<link/href=data:,x>",
      "<link / x",
    ],
    ignores: [
      '<head><link rel="stylesheet" href="https://cdn.example.com/a.css">',
      "<Link to='/javascript'>x</Link> imports",
    ],
    after: choice(
      seq(ows, lit("/"), run(WHITESPACE, 1, 1)),
      seq(
        choice(space, lit("/")),
        skipTo(
          choice(
            seq(lit("href"), assigned, choice(lit("javascript"), lit("data:"))),
            seq(lit("rel"), assigned, lit("import")),
          ),
          80,
          "<>",
        ),
      ),
    ),
  }),
  pattern("html.link-tag", ["<link"], {
    catches: "a text that begins with a style sheet of another host",
    finds: [
      '<LINK REL="stylesheet" HREF="http://x.example/x.css">',
      "'><link rel=stylesheet href=//x.example/x.css>",
    ],
    ignores: [
      '<head><link rel="stylesheet" href="https://cdn.example.com/a.css">',
      '<link rel="stylesheet" href="/a.css">',
      '<link rel="canonical" href="https://example.com/a">',
    ],
    guard: startsText,
    after: seq(
      space,
      not(seq(lit("rel"), assigned, lit("canonical"))),
      skipTo(seq(lit("href"), assigned, choice(lit("//"), lit("http"))), 60, "<>"),
    ),
  }),
  pattern("html.svg-active", ["<animate", "<set ", "<foreignobject"], {
    catches: "an animation that sets a link or an event attribute, or embedded markup",
    finds: [
      "<animate attributeName=href values=javascript:x>",
      "<set attributeName = 'onmouseover' to=go()>",
      "<animateTransform attributeName=xlink:href",
      "<animateMotion values='javascript:x'>",
      "<foreignObject href=javascript:x>",
      "<animate attributeName=href to=x>",
      "<set to=javascript:x>",
      "<set from=javascript:x>",
      "<animate values=data:x>",
    ],
    ignores: [
      '<animate attributeName="opacity" values="0;1" dur="1s"/>',
      "<set the table> on time",
      "<animate> href",
    ],
    after: skipTo(
      choice(
        seq(lit("attributename"), assigned, choice(lit("on"), lit("href"), lit("xlink"))),
        seq(
          choice(lit("values"), lit("href"), lit("to"), lit("from")),
          assigned,
          choice(lit("javascript"), lit("data:")),
        ),
      ),
      80,
      "<>",
    ),
  }),
  pattern("html.svg-active", ["<use", "<image", "<handler", "<listener", "<maction", "<a"], {
    catches: "a reference to a script or to another host without a scheme, or an XML event handler",
    finds: [
      "<use xlink:href='data:image/svg+xml,x'/>",
      "<image xlink:href=javascript:x>",
      "<handler xmlns:ev='x' ev:event='load'>",
      "<listener event='load' handler='#y'>",
      "<maction xlink:href=//x.example>",
      '<math><a xlink:href="//x.example">',
    ],
    ignores: [
      '<use xlink:href="#icon"/>',
      '<image xlink:href="/logo.png"/>',
      "<user xlink:href=//x>",
      '<a href="//x.example">',
    ],
    after: seq(
      space,
      skipTo(
        choice(
          seq(lit("xlink:href"), assigned, choice(lit("//"), lit("javascript"), lit("data:"))),
          lit("ev:event"),
          seq(lit("handler"), lit("=")),
        ),
        80,
        "<>",
      ),
    ),
  }),
  pattern("html.srcdoc", ["srcdoc", "dynsrc", "lowsrc", "datasrc", "datafld"], {
    catches: "an attribute that loads or contains markup",
    finds: ["<iframe srcdoc=x>", "<img dynsrc = x>", "<img lowsrc=x>", "<b datasrc=#x>", "<b datafld=x>"],
    ignores: ["srcdoc = x", "<p title='srcdoc'>", "the srcdoc attribute of <b>", "<p>datasrc = load()</p>"],
    before: inTag,
    after: seq(ows, lit("=")),
  }),
];
