// Dialogs with the arguments of proofs of concept: `alert(1)`, `prompt(document.domain)`.
import { isInClass, WHITESPACE, WORD } from "../../char-classes.ts";
import { charSetExcept } from "../../char-set.ts";
import { choice, keyword, lit, oneOf, opt, run, seq } from "../../combinators.ts";
import { endOfWord } from "../../keyword-set.ts";
import type { LookBehind } from "../../look-behind.ts";
import { NO_MATCH, type Matcher } from "../../matcher.ts";
import { unitAt } from "../../normalized-text.ts";
import { pattern, type Pattern } from "../../pattern.ts";
import { digits, end, ows, owsAndComments, quote } from "../../tokens.ts";
import { call, calledOn, isProseBefore } from "../calls.ts";
import { jsDot } from "../member-access.ts";
import { GLOBALS } from "./text-as-code.ts";

const DIALOGS = ["alert", "confirm", "prompt"];

/** What a proof of concept displays to show where it runs. */
const pageIdentity: Matcher = seq(
  keyword(["document", "window", "self", "this", "location", "top", "parent"]),
  choice(
    seq(
      jsDot,
      keyword([
        "cookie",
        "domain",
        "location",
        "origin",
        "url",
        "documenturi",
        "baseuri",
        "referrer",
        "href",
        "hash",
        "documentelement",
        "body",
        "name",
        "document",
        "window",
      ]),
    ),
    lit("["),
  ),
);
const probeArgument: Matcher = choice(
  seq(opt(oneOf("-+!~")), digits, ows, choice(oneOf(")`,"), end)),
  lit(")"),
  lit("/"),
  pageIdentity,
  seq(keyword(["location", "origin", "document"]), lit(")")),
  lit("string.fromcharcode"),
  seq(opt(quote), lit("xss")),
);
const probeCall: Matcher = choice(
  seq(opt(lit("?.")), owsAndComments, lit("("), ows, probeArgument),
  seq(lit("`"), choice(run(WORD, 1, 16), oneOf("${'\""), lit("`"))),
  seq(jsDot, lit("call("), choice(lit("null"), lit("this"), digits, lit(","), lit(" ,"))),
  seq(jsDot, lit("apply("), choice(lit("null"), lit("this"))),
  seq(lit(")"), call),
);

const onGlobals = calledOn(GLOBALS);
/** Not `the prompt (1)` in prose, where whitespace precedes the parenthesis and a word precedes the name. */
const dialogName: LookBehind = (input, at) => {
  const start = onGlobals(input, at);
  if (start < 0) return NO_MATCH;
  const hasSpace = isInClass(unitAt(input, endOfWord(input, at)), WHITESPACE);
  return hasSpace && isProseBefore(input, at) ? NO_MATCH : start;
};

export const DIALOG_CALLS: readonly Pattern[] = [
  pattern("js.dialog", DIALOGS, {
    catches: "a dialog with an argument that shows that injected code runs",
    finds: [
      "alert(12)",
      "confirm ( 1 )",
      "prompt(-1,",
      "alert(1",
      "alert()",
      "alert(/x/)",
      "alert(document.domain)",
      "alert(document?.cookie)",
      "alert(self['x'])",
      "alert(location)",
      "alert(origin)",
      "alert(document)",
      "alert(window.origin)",
      "alert(this.name)",
      "alert(location.href)",
      "alert(top.document)",
      "alert(parent.location)",
      "alert(String.fromCharCode(88))",
      "alert('XSS')",
      "alert?.(1)",
      "alert`27`",
      "alert`${x}`",
      "alert``",
      "alert.call(null,1)",
      "alert . call(this)",
      "alert.call(1)",
      "alert.call(,)",
      "alert.call( ,1)",
      "confirm.apply(null,[1])",
      "confirm.apply(this)",
      "(alert)(1)",
      "window.alert(1)",
    ],
    ignores: [
      "alert('Saved.')",
      "alert(this.value)",
      "alert(document.getElementById('x').value)",
      "alert(message)",
      "Compare the prompt (1) with the other prompt (2).",
      "dialog.alert(1)",
      "alerts(1)",
      "`alert`",
      "Call `alert`1",
    ],
    precededBy: charSetExcept(WORD, "`"),
    before: dialogName,
    after: probeCall,
  }),
  pattern("js.some-dialog", [".some(", ".map(", ".find(", ".filter(", ".foreach("], {
    catches: "a dialog or eval passed to a method of an array",
    finds: [
      "[1].some(alert)",
      "[1].map( confirm )",
      "[1].find(prompt)",
      "[1].filter(eval)",
      "[1].forEach(alert)",
    ],
    ignores: ["rows.map(alertText)", "rows.filter(Boolean)", "rows.forEach(alert, x)"],
    after: seq(ows, keyword([...DIALOGS, "eval"]), ows, lit(")")),
  }),
];
