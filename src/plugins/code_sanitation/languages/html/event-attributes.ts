// Event attributes such as `onerror=`. JavaScript and HTML share the pattern.
import { LETTER, WHITESPACE, WORD } from "../../char-classes.ts";
import { charSet, charSetExcept, charSetHas } from "../../char-set.ts";
import { choice, except, lit, not, oneOf, opt, run, seq, times } from "../../combinators.ts";
import { lowerCaseText, splitWords } from "../../keyword-set.ts";
import { requiring, skipWhitespaceBack, wordBefore, type LookBehind } from "../../look-behind.ts";
import { NO_MATCH, type Matcher } from "../../matcher.ts";
import { unitAt } from "../../normalized-text.ts";
import { pattern, type Pattern, type PatternConditions } from "../../pattern.ts";
import { NAME_WITH_ON, precededByPairs, startOfNameWithOn } from "../../required-before.ts";
import { digits, end, identifier, ows, quote } from "../../tokens.ts";
import { beforeAnyTag, isInTag } from "./tag-grammar.ts";

/** The work of looking back for a name. */
const STEPS_OF_NAME = 2;

/** Event names without `on`. Outside of a tag only these match. */
const EVENTS = new Set(
  splitWords(`
  abort activate animationcancel animationend animationiteration animationstart auxclick beforeinput
  beforeprint beforeunload begin blur bounce cancel canplay canplaythrough change click close
  contextmenu copy cuechange cut dblclick drag dragend dragenter dragexit dragleave dragover dragstart
  drop durationchange emptied end ended error finish focus focusin focusout fullscreenchange
  gotpointercapture hashchange input invalid keydown keypress keyup load loadeddata loadedmetadata
  loadend loadstart lostpointercapture message mousedown mouseenter mouseleave mousemove mouseout
  mouseover mouseup mousewheel offline pagehide pageshow paste pause play playing pointercancel
  pointerdown pointerenter pointerleave pointermove pointerout pointerover pointerrawupdate pointerup
  popstate progress propertychange ratechange readystatechange repeat reset resize scroll scrollend
  search securitypolicyviolation seeked seeking select selectionchange selectstart show stalled start
  storage submit suspend timeupdate toggle beforetoggle touchcancel touchend touchmove touchstart
  transitioncancel transitionend transitionrun transitionstart unhandledrejection unload volumechange
  waiting webkitanimationend wheel
`),
);
/** Rests of words of prose and code that start with `on`. */
const NOT_EVENTS = new Set(
  splitWords(`
  e ly ce line es going to us set tology ion off board demand prem site
`),
);

/** Keywords before a variable that a program declares: `const onError = …`. */
const DECLARATION_KEYWORDS = new Set([
  "const",
  "let",
  "var",
  "def",
  "readonly",
  "private",
  "public",
  "static",
]);

/** Units that may precede an attribute name: not the inside of a longer or qualified name. */
const BEFORE_ATTRIBUTE = charSetExcept(WORD, ".-$@:");

/** Matches an attribute name of `on` and letters before `=`. */
const eventName: LookBehind = (input, at) => {
  const start = startOfNameWithOn(input, at);
  input.work.steps += STEPS_OF_NAME;
  return start >= 0 && charSetHas(BEFORE_ATTRIBUTE, unitAt(input, start - 1)) ? start : NO_MATCH;
};

/** A function that a program assigns: `onChange = (event) => …`, `onload = function () …`. */
const assignedFunction: Matcher = seq(
  ows,
  choice(
    seq(opt(lit("async ")), lit("("), except("()\n", 0, 60), lit(")"), ows, oneOf("=-{:")),
    seq(identifier, ows, lit("=>")),
    seq(opt(lit("async ")), lit("function"), ows, choice(lit("("), identifier)),
  ),
);
/** An attribute value that is code. Required where no tag shows that this is an attribute. */
const codeAttributeValue: Matcher = choice(
  end,
  seq(
    not(assignedFunction),
    ows,
    choice(
      seq(
        quote,
        opt(lit("javascript:")),
        choice(
          seq(times(1, 4, seq(identifier, times(0, 2, oneOf(".?$")))), ows, oneOf("(`=[;:")),
          oneOf("([`!-+"),
        ),
      ),
      seq(times(1, 4, seq(identifier, times(0, 2, oneOf(".?")))), oneOf("(`=[;:&")),
      seq(oneOf("(["), opt(lit("'")), choice(identifier, digits)),
    ),
  ),
);
/** Not JSX, which has the handler in braces: that is a program. */
const notBraces: Matcher = not(oneOf("{="));

const AFTER_NAME = precededByPairs(
  [
    [charSet(LETTER), charSet(LETTER)],
    [charSet(WHITESPACE), charSet(LETTER | WHITESPACE)],
  ],
  NAME_WITH_ON,
);
const eventAttribute: LookBehind = requiring(AFTER_NAME, (input, at) => {
  const start = eventName(input, at);
  if (start < 0) return NO_MATCH;
  const nameEnd = skipWhitespaceBack(input, at);
  const event = lowerCaseText(input, start + 2, nameEnd);
  if (NOT_EVENTS.has(event)) return NO_MATCH;
  if (DECLARATION_KEYWORDS.has(wordBefore(input, skipWhitespaceBack(input, start)))) return NO_MATCH;
  if (isInTag(input, start)) return start;
  return EVENTS.has(event) && codeAttributeValue(input, at + 1) >= 0 ? start : NO_MATCH;
});

/** One object for all languages, so that the detector recognizes equal patterns. */
const EVENT_ATTRIBUTE: PatternConditions = {
  catches: "an event attribute of a tag, or one with code that follows a value",
  finds: [
    "<p onpointerenter=go()>",
    "<svg/onload=go()>",
    "<img src=x onerror = 'go()'>",
    "<x onfuture=go>",
    "onerror=",
    "x' onerror='go()",
    "x onclick=go(1)",
    'onload="javascript:go()',
    'onload="(go)',
    "onload=[1].map(go)",
    "onfocus=('x')",
    "onload=(7)",
  ],
  ignores: [
    '<Button onClick={save} className="big">',
    "const onError = handle(error);",
    "onChange = (event) => save(event)",
    "onChange = async (event) => save(event)",
    "onmessage = function (event) { reply(event); }",
    "onerror = function handle(e) {",
    "onclick = event => go(event)",
    "online = check()",
    "<a online=1>",
    "onboarding = start(user)",
    "if (onload == null) wait()",
    "button.onclick = go(1)",
    "<Panel on-click=go android:onClick='save'>",
    "x = 1",
    "Turn it on = press the button",
  ],
  precededBy: charSet(LETTER | WHITESPACE),
  start: eventAttribute,
  after: seq(ows, notBraces, opt(except(" >\n", 0, 60))),
};

const BREAKOUT_ATTRIBUTE: PatternConditions = {
  catches: "an event attribute after a quote that ends the value of another attribute",
  from: "relaxed",
  finds: [
    'x" onmouseover="go()',
    "' onfocus=go() autofocus='",
    '"onclick=go(1)//',
    "'onload=go`1`",
    '"/onerror=go()',
    "'/onerror=go()",
    "' onload=a.b(1)",
  ],
  ignores: [
    '<a href="x" onclick={go}>',
    '<a title="x" onClick={y()}>',
    '{"onload": true, "name" : "onload"}',
    'He said "only x=1"',
    "state 'on' is 1",
    "a < b ? 'online=check(1)' : c",
  ],
  guard: beforeAnyTag,
  after: seq(
    run(LETTER, 3, 24),
    ows,
    lit("="),
    ows,
    opt(quote),
    times(1, 4, seq(identifier, times(0, 2, oneOf(".?$")))),
    oneOf("(`=["),
  ),
};

export function eventAttributePatterns(id: string): Pattern[] {
  return [
    pattern(id, ["="], EVENT_ATTRIBUTE),
    pattern(id, ['" on', "' on", '"on', "'on", '"/on', "'/on"], BREAKOUT_ATTRIBUTE),
  ];
}
