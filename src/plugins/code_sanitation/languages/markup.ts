// Scripts in markup: event attributes and addresses that run. JavaScript and HTML both name them.
import { isInClass, LETTER, toLower, WHITESPACE, WORD } from "../char-classes.ts";
import { charSet } from "../char-set.ts";
import { choice, except, lit, not, oneOf, opt, run, seq, skipTo, times } from "../combinators.ts";
import { lowerCaseText, splitWords } from "../keyword-set.ts";
import { skipWhitespaceBack, wordBefore, type LookBehind } from "../look-behind.ts";
import { NO_MATCH, type Matcher } from "../matcher.ts";
import { unitAt, type NormalizedText } from "../normalized-text.ts";
import { pattern, type Pattern, type PatternConditions } from "../pattern.ts";
import { digits, end, identifier, ows, quote } from "../tokens.ts";

/** How far back a tag may have been opened. */
const TAG_LENGTH = 200;
const LONGEST_EVENT = 26;
const OPENING = 0x3c;
const CLOSING = 0x3e;

/** What events are called, after `on`; the families cover their before-, after- and prefixed forms. */
const EVENTS = new Set(
  [
    "abort activate animationcancel animationend animationiteration animationstart auxclick beforeinput beforeprint beforeunload begin blur bounce cancel canplay",
    "canplaythrough change click close contextmenu copy cuechange cut dblclick drag dragend dragenter dragexit dragleave dragover dragstart drop durationchange emptied",
    "end ended error finish focus focusin focusout fullscreenchange gotpointercapture hashchange input invalid keydown keypress keyup load loadeddata loadedmetadata",
    "loadend loadstart lostpointercapture message mousedown mouseenter mouseleave mousemove mouseout mouseover mouseup mousewheel offline pagehide pageshow paste",
    "pause play playing pointercancel pointerdown pointerenter pointerleave pointermove pointerout pointerover pointerrawupdate pointerup popstate progress",
    "propertychange ratechange readystatechange repeat reset resize scroll scrollend search securitypolicyviolation seeked seeking select selectionchange selectstart",
    "show stalled start storage submit suspend timeupdate toggle beforetoggle touchcancel touchend touchmove touchstart transitioncancel transitionend transitionrun",
    "transitionstart unhandledrejection unload volumechange waiting webkitanimationend wheel",
  ]
    .join(" ")
    .split(" "),
);
/** Words of prose and of code that start like an event. */
const NOT_EVENTS = new Set(
  splitWords(`
  e ly ce line es going to us set tology ion off board demand prem site
`),
);

/** `const onError = …`: a program names its own. */
const DECLARING = new Set(["const", "let", "var", "def"]);

/** Inside a tag: a `<` with a name behind it and no `>` between. */
export function isInTag(input: NormalizedText, at: number): boolean {
  for (let index = at - 1; index >= Math.max(0, at - TAG_LENGTH); index--) {
    input.work.steps++;
    const code = unitAt(input, index);
    if (code === OPENING && opensTag(unitAt(input, index + 1))) return true;
    if (code === CLOSING && unitAt(input, index - 1) !== 0x3d) return false;
  }
  return false;
}

function opensTag(code: number): boolean {
  return isInClass(code, LETTER) || code === 0x2f || code === 0x21 || code === 0x3f;
}

/** The attribute's name before `=`: `on` and an event. Answers its start. */
const eventName: LookBehind = (input, at) => {
  const nameEnd = skipWhitespaceBack(input, at);
  let start = nameEnd;
  while (nameEnd - start < LONGEST_EVENT && isInClass(unitAt(input, start - 1), LETTER)) start--;
  input.work.steps += nameEnd - start;
  if (
    nameEnd - start < 4 ||
    toLower(unitAt(input, start)) !== 0x6f ||
    toLower(unitAt(input, start + 1)) !== 0x6e
  )
    return NO_MATCH;
  const before = unitAt(input, start - 1);
  if (
    isInClass(before, WORD) ||
    before === 0x2e ||
    before === 0x2d ||
    before === 0x24 ||
    before === 0x40 ||
    before === 0x3a
  )
    return NO_MATCH;
  return start;
};

/** An attribute's value that is code, where no tag says that this is an attribute. */
const codeValue: Matcher = choice(
  end,
  seq(
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
/** JSX binds handlers with braces and Vue with names; both are a program's own. */
const attributeValue: Matcher = seq(ows, not(oneOf("{=")));

const handler: LookBehind = (input, at) => {
  const start = eventName(input, at);
  if (start < 0) return NO_MATCH;
  const nameEnd = skipWhitespaceBack(input, at);
  const event = lowerCaseText(input, start + 2, nameEnd);
  if (NOT_EVENTS.has(event)) return NO_MATCH;
  if (DECLARING.has(wordBefore(input, skipWhitespaceBack(input, start)))) return NO_MATCH;
  if (isInTag(input, start)) return attributeValue(input, at + 1) < 0 ? NO_MATCH : start;
  return EVENTS.has(event) && codeValue(input, at + 1) >= 0 ? start : NO_MATCH;
};

/** One grammar for all who name it, so that a detector sees that they are the same. */
const HANDLER: PatternConditions = {
  precededBy: charSet(LETTER | WHITESPACE),
  guard: eventName,
  before: handler,
  after: seq(ows, opt(except(" >\n", 0, 60))),
};

export function eventHandlers(id: string): Pattern[] {
  return [pattern(id, ["="], HANDLER)];
}

const SCHEMES = ["javascript", "vbscript", "livescript", "jscript"].map((name) =>
  Array.from(name, (letter) => letter.charCodeAt(0)).reverse(),
);

/** A scheme's name before `:`; browsers skip blanks inside it. Answers its start. */
const scheme: LookBehind = (input, at) => {
  for (const letters of SCHEMES) {
    let index = at - 1;
    let matched = 0;
    while (index >= 0 && at - index < 40 && matched < letters.length) {
      const code = unitAt(input, index);
      if (toLower(code) === letters[matched]) matched++;
      else if (!isInClass(code, WHITESPACE) || matched === 0) break;
      index--;
    }
    input.work.steps += at - index;
    if (matched === letters.length && !isInClass(unitAt(input, index), WORD)) return index + 1;
  }
  return NO_MATCH;
};

const chain = seq(identifier, times(0, 5, seq(times(1, 2, oneOf(".?")), identifier)));
const runsCode: Matcher = seq(
  ows,
  choice(
    seq(chain, ows, choice(oneOf("(`["), seq(lit("="), not(lit("="))), lit(":"))),
    seq(oneOf("(\"'`[!+-~{"), not(seq(quote, end))),
    lit("//"),
    lit("/*"),
    lit("\\"),
    seq(lit("%"), digits),
  ),
);

const SCHEME: PatternConditions = {
  precededBy: charSet(WHITESPACE, "tT"),
  guard: scheme,
  before: scheme,
  after: runsCode,
};
const IN_TAG: PatternConditions = { before: (input, at) => (isInTag(input, at) ? at : NO_MATCH) };
const DATA: PatternConditions = { after: skipTo(lit(","), 60, " >") };
const DATA_TYPES = splitWords(`
  text/html text/xml text/xhtml text/javascript text/vbscript image/svg+xml application/javascript
  application/x-javascript application/xml application/xhtml
`);

export function scriptAddresses(id: string): Pattern[] {
  return [
    pattern(id, [":"], SCHEME),
    pattern(id, ["=javascript:", "='javascript:", '="javascript:', "=vbscript:"], IN_TAG),
    pattern(id, ["url(javascript", "url('javascript", 'url("javascript', "url(vbscript"]),
    pattern(id, ["data:image/svg xml", ...DATA_TYPES.map((type) => `data:${type}`)], DATA),
  ];
}

export const tagEnd: Matcher = choice(end, oneOf(" \n/>\"'`;:<\\%&("), run(WHITESPACE, 1, 1));
