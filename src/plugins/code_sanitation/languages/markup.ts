// Patterns for scripts in markup: event attributes and script URLs. JavaScript and HTML share them.
import { isInClass, LETTER, toLower, WHITESPACE, WORD } from "../char-classes.ts";
import { EQUALS, GREATER, LESS } from "../char-codes.ts";
import { charSet, charSetExcept, charSetHas } from "../char-set.ts";
import { choice, except, lit, not, oneOf, opt, run, seq, skipTo, times } from "../combinators.ts";
import { lowerCaseText, splitWords } from "../keyword-set.ts";
import { skipWhitespaceBack, wordBefore, type LookBehind } from "../look-behind.ts";
import { NO_MATCH, type Matcher } from "../matcher.ts";
import { unitAt, type NormalizedText } from "../normalized-text.ts";
import { pattern, type Pattern, type PatternConditions } from "../pattern.ts";
import { digits, end, identifier, ows, quote } from "../tokens.ts";

/** How far to look back for the start of a tag. */
const MAX_TAG_LENGTH = 200;
const MAX_EVENT_NAME_LENGTH = 26;
const LOWER_N = 0x6e;
const LOWER_O = 0x6f;

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
const DECLARATION_KEYWORDS = new Set(["const", "let", "var", "def"]);

/** Units that may follow the `<` of a tag. */
const TAG_START = charSet(LETTER, "/!?");

/** Returns whether a `<` with a tag name precedes, without a `>` in between. */
export function isInTag(input: NormalizedText, at: number): boolean {
  for (let index = at - 1; index >= Math.max(0, at - MAX_TAG_LENGTH); index--) {
    input.work.steps++;
    const code = unitAt(input, index);
    if (code === LESS && charSetHas(TAG_START, unitAt(input, index + 1))) return true;
    if (code === GREATER && unitAt(input, index - 1) !== EQUALS) return false;
  }
  return false;
}

/** Units that may precede an attribute name: not the inside of a longer or qualified name. */
const BEFORE_ATTRIBUTE = charSetExcept(WORD, ".-$@:");

/** Matches an attribute name of `on` and letters before `=`. */
const eventName: LookBehind = (input, at) => {
  const nameEnd = skipWhitespaceBack(input, at);
  let start = nameEnd;
  while (nameEnd - start < MAX_EVENT_NAME_LENGTH && isInClass(unitAt(input, start - 1), LETTER)) start--;
  input.work.steps += nameEnd - start;
  if (nameEnd - start < 4) return NO_MATCH;
  if (toLower(unitAt(input, start)) !== LOWER_O || toLower(unitAt(input, start + 1)) !== LOWER_N)
    return NO_MATCH;
  return charSetHas(BEFORE_ATTRIBUTE, unitAt(input, start - 1)) ? start : NO_MATCH;
};

/** An attribute value that is code. Required where no tag shows that this is an attribute. */
const codeAttributeValue: Matcher = choice(
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
/** Not JSX, which has the handler in braces: that is a program. */
const attributeValue: Matcher = seq(ows, not(oneOf("{=")));

const eventAttribute: LookBehind = (input, at) => {
  const start = eventName(input, at);
  if (start < 0) return NO_MATCH;
  const nameEnd = skipWhitespaceBack(input, at);
  const event = lowerCaseText(input, start + 2, nameEnd);
  if (NOT_EVENTS.has(event)) return NO_MATCH;
  if (DECLARATION_KEYWORDS.has(wordBefore(input, skipWhitespaceBack(input, start)))) return NO_MATCH;
  if (isInTag(input, start)) return attributeValue(input, at + 1) < 0 ? NO_MATCH : start;
  return EVENTS.has(event) && codeAttributeValue(input, at + 1) >= 0 ? start : NO_MATCH;
};

/** One object for all languages, so that the detector recognizes equal patterns. */
const EVENT_ATTRIBUTE: PatternConditions = {
  precededBy: charSet(LETTER | WHITESPACE),
  guard: eventName,
  before: eventAttribute,
  after: seq(ows, opt(except(" >\n", 0, 60))),
};

export function eventAttributePatterns(id: string): Pattern[] {
  return [pattern(id, ["="], EVENT_ATTRIBUTE)];
}

/** Script schemes as code units in reverse order, for matching backwards. */
const REVERSED_SCHEMES = ["javascript", "vbscript", "livescript", "jscript"].map((name) =>
  Array.from(name, (letter) => letter.charCodeAt(0)).reverse(),
);

/** Matches the name of a script scheme before `:`. Browsers ignore whitespace inside it. */
const scriptScheme: LookBehind = (input, at) => {
  for (const letters of REVERSED_SCHEMES) {
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

const memberChain = seq(identifier, times(0, 5, seq(times(1, 2, oneOf(".?")), identifier)));
const scriptCode: Matcher = seq(
  ows,
  choice(
    seq(memberChain, ows, choice(oneOf("(`["), seq(lit("="), not(lit("="))), lit(":"))),
    seq(oneOf("(\"'`[!+-~{"), not(seq(quote, end))),
    lit("//"),
    lit("/*"),
    lit("\\"),
    seq(lit("%"), digits),
  ),
);

const SCRIPT_URL: PatternConditions = {
  precededBy: charSet(WHITESPACE, "tT"),
  guard: scriptScheme,
  before: scriptScheme,
  after: scriptCode,
};
const IN_TAG: PatternConditions = { before: (input, at) => (isInTag(input, at) ? at : NO_MATCH) };
const DATA_URL: PatternConditions = { after: skipTo(lit(","), 60, " >") };
const DATA_TYPES = splitWords(`
  text/html text/xml text/xhtml text/javascript text/vbscript image/svg+xml application/javascript
  application/x-javascript application/xml application/xhtml
`);

export function scriptUrlPatterns(id: string): Pattern[] {
  return [
    pattern(id, [":"], SCRIPT_URL),
    pattern(id, ["=javascript:", "='javascript:", '="javascript:', "=vbscript:"], IN_TAG),
    pattern(id, ["url(javascript", "url('javascript", 'url("javascript', "url(vbscript"]),
    pattern(id, ["data:image/svg xml", ...DATA_TYPES.map((type) => `data:${type}`)], DATA_URL),
  ];
}

/** Matches what may follow a tag name. */
export const tagEnd: Matcher = choice(end, oneOf(" \n/>\"'`;:<\\%&("), run(WHITESPACE, 1, 1));
