// Reads JSON that was cut off inside of a long text, as the end of a sample of a stream.

const [QUOTE, BACKSLASH] = ['"', "\\"];
const CLOSING: Readonly<Record<string, string>> = { "{": "}", "[": "]" };
/** A backslash, or `\u` and less than four digits, at the end of a text. */
const CUT_ESCAPE = /(?<!\\)(?:\\\\)*(\\(?:u[\da-f]{0,3})?)$/i;

/** Returns the value with the text that was cut off ended where it is cut; undefined if the JSON does not end in a text. */
export function parseCutJson(json: string): unknown {
  const open: string[] = [];
  let isText = false;
  for (let at = 0; at < json.length; at++) {
    const character = json[at] ?? "";
    if (isText) {
      if (character === BACKSLASH) at++;
      else if (character === QUOTE) isText = false;
    } else if (character === QUOTE) isText = true;
    else if (CLOSING[character] !== undefined) open.push(CLOSING[character]);
    else if (character === "}" || character === "]") open.pop();
  }
  if (!isText) return undefined;
  const cut = CUT_ESCAPE.exec(json)?.[1]?.length ?? 0;
  try {
    return JSON.parse(`${json.slice(0, json.length - cut)}"${open.toReversed().join("")}`);
  } catch {
    return undefined;
  }
}
