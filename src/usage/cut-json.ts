// Reads JSON that was cut off, as the end of a sample of a stream is.
import { parseBounded } from "../base/bounded-json.ts";

const [QUOTE, BACKSLASH] = ['"', "\\"];
const CLOSING: Readonly<Record<string, string>> = { "{": "}", "[": "]" };
/** A backslash, or `\u` and less than four digits, at the end of a text. */
const CUT_ESCAPE = /(?<!\\)(?:\\\\)*(\\(?:u[\da-f]{0,3})?)$/i;

/** Where JSON may be cut off to be read. */
export type CutPlace = "text" | "anywhere";

/**
 * Returns the value without what is incomplete, except for a text, which ends where it is cut. Returns undefined if the JSON is cut off
 * somewhere else than at `place`.
 */
export function parseCutJson(json: string, place: CutPlace): unknown {
  const open: string[] = [];
  let isText = false;
  /** The end of the last complete member. No object or list begins or ends after it. */
  let complete = 0;
  for (let at = 0; at < json.length; at++) {
    const character = json[at] ?? "";
    if (isText) {
      if (character === BACKSLASH) at++;
      else if (character === QUOTE) isText = false;
    } else if (character === QUOTE) isText = true;
    else if (character === ",") complete = at;
    else if (CLOSING[character] !== undefined) {
      open.push(CLOSING[character]);
      complete = at + 1;
    } else if (character === "}" || character === "]") {
      open.pop();
      complete = at + 1;
    }
  }
  const end = open.toReversed().join("");
  const cut = CUT_ESCAPE.exec(json)?.[1]?.length ?? 0;
  const ended = isText ? parse(`${json.slice(0, json.length - cut)}"${end}`) : undefined;
  // The text may be a name.
  return ended ?? (place === "anywhere" ? parse(json.slice(0, complete) + end) : undefined);
}

function parse(json: string): unknown {
  try {
    return parseBounded(json);
  } catch {
    return undefined;
  }
}
