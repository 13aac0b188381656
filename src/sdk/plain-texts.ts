// The texts of bodies that are plain text, or lines of JSON.
import { isJsonText } from "../base/json.ts";
import { RequestTexts } from "../formats/request-texts.ts";
import type { BodyTexts } from "./body-text-list.ts";

const LINE_FEED = 0x0a;

/** The whole body is one text of the user. */
export function readPlainText(body: Uint8Array): BodyTexts {
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString();
  return {
    texts: [
      {
        role: "user",
        kind: "text",
        message: 0,
        tool: null,
        field: "",
        isJson: false,
        isFile: false,
        isReadOnly: false,
        text,
      },
    ],
    identifiers: [],
    keptConversation: null,
    unreadable: null,
    replace: (replacements) => Buffer.from(replacements.get(0) ?? text),
  };
}

/** Returns null if a line is no JSON. `text` is the text of the body, without a byte order mark. */
export function readJsonLines(body: Uint8Array, text: string): BodyTexts | null {
  const lines: { readonly read: RequestTexts; readonly end: number }[] = [];
  if (!text.split("\n").every((line) => line.trim() === "" || isJsonText(line))) return null;
  let start = 0;
  while (start < body.byteLength) {
    const found = body.indexOf(LINE_FEED, start);
    const end = found < 0 ? body.byteLength : found + 1;
    const line = body.subarray(start, end);
    const read = RequestTexts.read(line);
    if (read !== null) lines.push({ read, end });
    else if (line.some((byte) => byte > 0x20)) return null;
    start = end;
  }
  return joinLines(body, lines);
}

function joinLines(
  body: Uint8Array,
  lines: readonly { readonly read: RequestTexts; readonly end: number }[],
): BodyTexts {
  const reads = lines.map(({ read }) => read);
  const firstOf: number[] = [];
  let count = 0;
  for (const { texts } of reads) {
    firstOf.push(count);
    count += texts.length;
  }
  return {
    texts: reads.flatMap(({ texts }) => texts),
    identifiers: reads.flatMap(({ identifiers }) => identifiers),
    keptConversation:
      reads.find(({ keptConversation }) => keptConversation !== null)?.keptConversation ?? null,
    unreadable: reads.find(({ unreadable }) => unreadable !== null)?.unreadable ?? null,
    replace(replacements, keys) {
      const byLine = reads.map(() => new Map<number, string>());
      let line = 0;
      for (const [index, text] of [...replacements].sort(([a], [b]) => a - b)) {
        while (line + 1 < firstOf.length && (firstOf[line + 1] ?? 0) <= index) line++;
        byLine[line]?.set(index - (firstOf[line] ?? 0), text);
      }
      const written = reads.map((read, at) => read.replace(byLine[at] ?? new Map<number, string>(), keys));
      return Buffer.concat([...written, body.subarray(lines.at(-1)?.end ?? 0)]);
    },
  };
}
