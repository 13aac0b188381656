// Scripts in markup: event attributes and addresses that run. JavaScript and HTML both name them.
import { BLANK, isOf, LETTER, lower, WORD } from "../char-classes.ts";
import {
  any,
  blanks,
  blanksBack,
  digits,
  end,
  except,
  identifier,
  lit,
  lowerText,
  NO_MATCH,
  not,
  oneOf,
  opt,
  quote,
  run,
  seq,
  times,
  upTo,
  wordBack,
  words,
  type Before,
} from "../grammar.ts";
import { edge } from "../edge.ts";
import { pattern, type Grammar, type Pattern } from "../pattern.ts";
import type { Rule } from "../rule.ts";
import { unitAt, type View } from "../view.ts";

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
  words(`
  e ly ce line es going to us set tology ion off board demand prem site
`),
);

/** `const onError = …`: a program names its own. */
const DECLARING = new Set(["const", "let", "var", "def"]);

/** Inside a tag: a `<` with a name behind it and no `>` between. */
export function isInTag(view: View, at: number): boolean {
  for (let index = at - 1; index >= Math.max(0, at - TAG_LENGTH); index--) {
    view.work.steps++;
    const code = unitAt(view, index);
    if (code === OPENING && opensTag(unitAt(view, index + 1))) return true;
    if (code === CLOSING && unitAt(view, index - 1) !== 0x3d) return false;
  }
  return false;
}

function opensTag(code: number): boolean {
  return isOf(code, LETTER) || code === 0x2f || code === 0x21 || code === 0x3f;
}

/** The attribute's name before `=`: `on` and an event. Answers its start. */
const eventName: Before = (view, at) => {
  const nameEnd = blanksBack(view, at);
  let start = nameEnd;
  while (nameEnd - start < LONGEST_EVENT && isOf(unitAt(view, start - 1), LETTER)) start--;
  view.work.steps += nameEnd - start;
  if (nameEnd - start < 4 || lower(unitAt(view, start)) !== 0x6f || lower(unitAt(view, start + 1)) !== 0x6e)
    return NO_MATCH;
  const before = unitAt(view, start - 1);
  if (
    isOf(before, WORD) ||
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
const codeValue: Rule = any(
  end,
  seq(
    blanks,
    any(
      seq(
        quote,
        opt(lit("javascript:")),
        any(
          seq(times(1, 4, seq(identifier, times(0, 2, oneOf(".?$")))), blanks, oneOf("(`=[;:")),
          oneOf("([`!-+"),
        ),
      ),
      seq(times(1, 4, seq(identifier, times(0, 2, oneOf(".?")))), oneOf("(`=[;:&")),
      seq(oneOf("(["), opt(lit("'")), any(identifier, digits)),
    ),
  ),
);
/** JSX binds handlers with braces and Vue with names; both are a program's own. */
const attributeValue: Rule = seq(blanks, not(oneOf("{=")));

const handler: Before = (view, at) => {
  const start = eventName(view, at);
  if (start < 0) return NO_MATCH;
  const nameEnd = blanksBack(view, at);
  const event = lowerText(view, start + 2, nameEnd);
  if (NOT_EVENTS.has(event)) return NO_MATCH;
  if (DECLARING.has(wordBack(view, blanksBack(view, start)))) return NO_MATCH;
  if (isInTag(view, start)) return attributeValue(view, at + 1) < 0 ? NO_MATCH : start;
  return EVENTS.has(event) && codeValue(view, at + 1) >= 0 ? start : NO_MATCH;
};

/** One grammar for all who name it, so that a detector sees that they are the same. */
const HANDLER: Grammar = {
  prev: edge(LETTER | BLANK),
  guard: eventName,
  before: handler,
  after: seq(blanks, opt(except(" >\n", 0, 60))),
};

export function eventHandlers(id: string): Pattern[] {
  return [pattern(id, ["="], HANDLER)];
}

const SCHEMES = ["javascript", "vbscript", "livescript", "jscript"].map((name) =>
  Array.from(name, (letter) => letter.charCodeAt(0)).reverse(),
);

/** A scheme's name before `:`; browsers skip blanks inside it. Answers its start. */
const scheme: Before = (view, at) => {
  for (const letters of SCHEMES) {
    let index = at - 1;
    let matched = 0;
    while (index >= 0 && at - index < 40 && matched < letters.length) {
      const code = unitAt(view, index);
      if (lower(code) === letters[matched]) matched++;
      else if (!isOf(code, BLANK) || matched === 0) break;
      index--;
    }
    view.work.steps += at - index;
    if (matched === letters.length && !isOf(unitAt(view, index), WORD)) return index + 1;
  }
  return NO_MATCH;
};

const chain = seq(identifier, times(0, 5, seq(times(1, 2, oneOf(".?")), identifier)));
const runsCode: Rule = seq(
  blanks,
  any(
    seq(chain, blanks, any(oneOf("(`["), seq(lit("="), not(lit("="))), lit(":"))),
    seq(oneOf("(\"'`[!+-~{"), not(seq(quote, end))),
    lit("//"),
    lit("/*"),
    lit("\\"),
    seq(lit("%"), digits),
  ),
);

const SCHEME: Grammar = { prev: edge(BLANK, "tT"), guard: scheme, before: scheme, after: runsCode };
const IN_TAG: Grammar = { before: (view, at) => (isInTag(view, at) ? at : NO_MATCH) };
const DATA: Grammar = { after: upTo(lit(","), 60, " >") };
const DATA_TYPES = words(`
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

export const tagEnd: Rule = any(end, oneOf(" \n/>\"'`;:<\\%&("), run(BLANK, 1, 1));
