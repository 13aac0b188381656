// Styles that run scripts or load other styles, mostly in old browsers.
import { WORD } from "../../char-classes.ts";
import { isInClass } from "../../char-classes.ts";
import { COLON } from "../../char-codes.ts";
import { choice, lit, opt, seq, skipTo } from "../../combinators.ts";
import { atWordStart, skipWhitespaceBack, type LookBehind } from "../../look-behind.ts";
import { NO_MATCH } from "../../matcher.ts";
import { unitAt } from "../../normalized-text.ts";
import { pattern, type Pattern } from "../../pattern.ts";
import { ows, quote } from "../../tokens.ts";
import { startsText } from "../lone-text.ts";
import { inTag } from "./tag-grammar.ts";

/** Matches after the name of a property and a colon: `width: `. */
const afterProperty: LookBehind = (input, at) => {
  const colon = skipWhitespaceBack(input, at) - 1;
  return unitAt(input, colon) === COLON && isInClass(unitAt(input, colon - 1), WORD) ? at : NO_MATCH;
};

export const STYLES: readonly Pattern[] = [
  pattern("html.style-import", ["@import"], {
    catches: "a style imported from a script, a data URL or an escaped URL",
    finds: ["@import 'data:,x'", "@import url(javascript:x)", '@import"\\x', "@import url('data:x')"],
    ignores: ["@import 'theme.css';", "@import url('https://fonts.example.com/a.css');", "the @import rule"],
    after: seq(ows, opt(lit("url(")), opt(quote), choice(lit("data:"), lit("javascript"), lit("\\"))),
  }),
  pattern("html.style-import", ["<style"], {
    catches: "a text that begins with a style imported from another host",
    finds: [
      "<style>@import'http://x.example/a.css'",
      '"><style type=x>@import url(//x.example/a.css)',
      "<style>@import '%x",
    ],
    ignores: [
      "<html><style>@import 'http://x.example/a.css'",
      "<style>@import 'theme.css'",
      "<style>p { color: red }</style>",
    ],
    guard: startsText,
    after: seq(
      skipTo(lit(">"), 40, "<"),
      ows,
      lit("@import"),
      ows,
      opt(lit("url(")),
      opt(quote),
      choice(lit("http"), lit("//"), lit("%")),
    ),
  }),
  pattern("html.style-expression", ["expression"], {
    catches: "a style whose value is an expression that a browser computes",
    finds: ["<p style=width:expression(go())>", "width: expression (go())"],
    ignores: [
      "node = expression(parser)",
      "return ok ? term : expression(x)",
      "a regular expression (x)",
      "x:expressions(y)",
    ],
    before: afterProperty,
    after: seq(ows, lit("(")),
  }),
  pattern("html.style-behaviour", ["behavior", "behaviour", "binding", "-o-link"], {
    catches: "a style that attaches a script to an element",
    finds: [
      "behavior:url(x.htc)",
      "behaviour : url('x')",
      "{-moz-binding:url(//x.example)}",
      "binding: url(x)",
      "-o-link:'javascript:x'",
    ],
    ignores: ["window.scrollTo({ behavior: 'smooth' })", "misbehavior:url(x)", "-o-link:'/x'"],
    before: atWordStart,
    after: seq(ows, lit(":"), ows, choice(lit("url("), seq(quote, lit("javascript")))),
  }),
  pattern("html.style-script", ["text/javascript", "text/x-scriptlet", "text/vbscript"], {
    catches: "a tag with the type of a script",
    finds: [
      "<style type='text/javascript'>",
      "<object type=text/x-scriptlet data=x>",
      "<x type='text/vbscript'>",
    ],
    ignores: ["Content-Type: text/javascript", "text/x-scriptlet", "text/vbscript"],
    before: inTag,
  }),
  pattern("html.style-breakout", ["style"], {
    catches: "a style with escaped quotes or an open comment",
    finds: ['<p style="x:\'a\\22\\3e">', "<p style='a\\27'>", "<p style = x/*>"],
    ignores: ['<p style="color: red">', 'style="a/*b*/"', "<p style=x>/*"],
    before: inTag,
    after: seq(ows, lit("="), skipTo(choice(lit("\\22"), lit("\\27"), lit("/*")), 60, "<>")),
  }),
];
