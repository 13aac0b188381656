// The path of a string in a JSON text, for the report of a finding.
import { CLOSE_BRACE, CLOSE_BRACKET, COMMA, DOUBLE_QUOTE, OPEN_BRACE, OPEN_BRACKET } from "./char-codes.ts";
import { decodeString, stringEnd } from "./json-string.ts";

/** An array and the index of its current element, or an object and the position of its current key. */
interface Step {
  readonly isArray: boolean;
  current: number;
}

/** Other keys may contain text of the request, which is not reported. They are shown as `*`. */
const SHOWN_KEY = /^[A-Za-z_][A-Za-z0-9_-]{0,31}$/;
/** The middle of a longer path is left out. */
const MAX_STEPS = 12;

/** Returns the path of the string whose content starts at `start`, such as `messages[2].content`. A key is shown as `*`. */
export function pathAt(text: string, start: number): string {
  const steps: Step[] = [];
  let isKey = false;
  for (let at = 0; at < start - 1; at++) {
    const top = steps.at(-1);
    switch (text.charCodeAt(at)) {
      case DOUBLE_QUOTE:
        if (isKey && top !== undefined) top.current = at + 1;
        isKey = false;
        at = stringEnd(text, at + 1);
        break;
      case OPEN_BRACE:
      case OPEN_BRACKET:
        isKey = text.charCodeAt(at) === OPEN_BRACE;
        steps.push({ isArray: !isKey, current: 0 });
        break;
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        steps.pop();
        break;
      case COMMA:
        isKey = top?.isArray === false;
        if (top?.isArray === true) top.current++;
    }
  }
  const shown = steps.map((step, index) =>
    step.isArray
      ? `[${step.current}]`
      : `.${isKey && index === steps.length - 1 ? "*" : keyName(text, step.current)}`,
  );
  if (shown.length > MAX_STEPS) shown.splice(MAX_STEPS / 2, shown.length - MAX_STEPS, ".…");
  return shown.join("").replace(/^\./, "");
}

function keyName(text: string, start: number): string {
  const key = decodeString(text, { start, end: stringEnd(text, start) });
  return SHOWN_KEY.test(key) ? key : "*";
}
