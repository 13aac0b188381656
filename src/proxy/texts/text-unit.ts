// One piece of a response that is sent as a whole: an event of a stream, or a body that is no stream. Knows the texts in it, and writes
// replaced ones back without changing another byte.
import { MAX_EVENT_ITEMS } from "../../base/bounded-json.ts";
import { utf8Between } from "../../base/byte-search.ts";
import { contentChannel, type EventTexts } from "../../formats/text-channels.ts";
import { dataLines, isBlank, isDone, joinLines, withData, withoutComments } from "./event-data.ts";
import {
  Collected,
  isStrictJson,
  parsed,
  slotsByPrefix,
  unreadable,
  type FoundMark,
  type MarkWith,
  type Probabilities,
} from "./found-texts.ts";
import { replaceTexts, type FoundText } from "./found-text.ts";

/** A text in a unit. */
export class TextSlot {
  readonly found: FoundText;
  /** The text as the plugins so far have left it. */
  text: string;

  constructor(found: FoundText) {
    this.found = found;
    this.text = found.text;
  }

  get isChanged(): boolean {
    return this.text !== this.found.text;
  }
}

export type Mark = MarkWith<TextSlot>;
const NO_MARKS: readonly Mark[] = [];

export function withSlot(mark: FoundMark): Mark {
  return "slot" in mark ? { ...mark, slot: new TextSlot(mark.slot) } : mark;
}

interface Marks {
  readonly marks: readonly Mark[];
  readonly sequence: number | null;
}

/** Chat streams end with an event that is not JSON. */
const ALL_ENDED: Marks = { marks: [{ type: "end", prefix: "" }], sequence: null };

export class TextUnit {
  readonly #bytes: Uint8Array;
  /** Where the JSON with the slots is located in the bytes; 0 if there is none, or in several lines. */
  readonly #dataStart: number;
  /** The JSON of an event with several data lines; null if it is located in the bytes. */
  readonly #joined: Uint8Array | null;
  readonly marks: readonly Mark[];
  /** The number of the event; null in formats that do not number events. */
  readonly sequence: number | null;
  readonly isEvent: boolean;
  /** The unit has no fields, only comments: its order does not matter. */
  readonly isComment: boolean;

  private constructor(
    bytes: Uint8Array,
    found: {
      dataStart?: number;
      joined?: Uint8Array | null;
      collected?: Marks;
      isComment?: boolean;
      isEvent?: true;
    },
  ) {
    this.#bytes = bytes;
    this.#dataStart = found.dataStart ?? 0;
    this.#joined = found.joined ?? null;
    this.marks = found.collected?.marks ?? NO_MARKS;
    this.sequence = found.collected?.sequence ?? null;
    this.isEvent = found.isEvent ?? false;
    this.isComment = found.isComment ?? false;
  }

  /** Bytes that are passed on unchanged. */
  static opaque(bytes: Uint8Array): TextUnit {
    return new TextUnit(bytes, {});
  }

  /** A body that is one text. */
  static ofText(bytes: Uint8Array): TextUnit {
    const text = utf8Between(bytes, 0, bytes.byteLength);
    const slot: FoundText = { start: 0, end: bytes.byteLength, form: "plain", text };
    const mark: FoundMark = { type: "whole", key: "text/", channel: contentChannel(0), slot };
    return TextUnit.ofBody(bytes, [withSlot(mark)]);
  }

  /** `marks` are those of a body. */
  static ofBody(bytes: Uint8Array, marks: readonly Mark[]): TextUnit {
    return new TextUnit(bytes, { collected: { marks, sequence: null } });
  }

  /**
   * `bytes` is an event, with the blank line at its end if it is not the last one. Throws for an event that is not as its format says: some
   * clients read lines, and not events, or fields that others ignore. Comments are emptied.
   */
  static ofEvent(bytes: Uint8Array, texts: EventTexts): TextUnit {
    const { data, hasFields, hasComments, name } = dataLines(bytes);
    if (hasComments) return TextUnit.ofEvent(withoutComments(bytes), texts);
    const [first] = data;
    if (first === undefined) return new TextUnit(bytes, { isEvent: true, isComment: !hasFields });
    const joined = data.length === 1 ? null : joinLines(bytes, data);
    const json = joined ?? bytes.subarray(first.start, first.end);
    if (isBlank(json)) return new TextUnit(bytes, { isEvent: true });
    if (isDone(json)) return new TextUnit(bytes, { isEvent: true, collected: ALL_ENDED });
    const event = parsed(json, MAX_EVENT_ITEMS);
    if (event === null || (joined !== null && !isStrictJson(joined))) throw unreadable("an event");
    const collected = new Collected(event, (found) => new TextSlot(found));
    texts.read(event, collected, name);
    const dataStart = joined === null ? first.start : 0;
    return new TextUnit(bytes, { isEvent: true, dataStart, joined, collected });
  }

  get byteLength(): number {
    return this.#bytes.byteLength;
  }

  get bytes(): Uint8Array {
    return this.#bytes;
  }

  /** The texts that have changed, in order, located in the bytes unless the unit is an event with several data lines. */
  get replaced(): readonly FoundText[] {
    const replaced: FoundText[] = [];
    let beside: ReadonlyMap<string, TextsBeside> | null = null;
    const replace = (found: FoundText) =>
      replaced.push({ ...found, start: found.start + this.#dataStart, end: found.end + this.#dataStart });
    for (const mark of this.marks) {
      if (mark.type === "probabilities") {
        const { start, end, empty } = mark;
        if (mayShowOtherText(mark, (beside ??= textsByPrefix(this.marks)).get(mark.prefix)))
          replace({ start, end, form: "json", text: empty });
      } else if ("slot" in mark && mark.slot.isChanged) {
        const { found, text } = mark.slot;
        replace({ ...found, text: found.empty ?? text });
      }
    }
    return outermost(replaced);
  }

  /** Returns the bytes to send: those that were received if no text has changed. */
  encode(): Uint8Array {
    const { replaced } = this;
    if (replaced.length === 0) return this.#bytes;
    if (this.#joined === null) return replaceTexts(this.#bytes, replaced);
    return withData(this.#bytes, replaceTexts(this.#joined, replaced));
  }
}

/** Texts that are within others, such as those beside removed tokens, are replaced with them. */
function outermost(found: FoundText[]): readonly FoundText[] {
  found.sort((a, b) => a.start - b.start || b.end - a.end);
  let end = 0;
  return found.filter((each) => {
    const isOuter = each.start >= end;
    if (isOuter) end = each.end;
    return isOuter;
  });
}

/** The texts of the keys that start with a prefix. */
interface TextsBeside {
  readonly isChanged: boolean;
  readonly text: string;
}

function textsByPrefix(marks: readonly Mark[]): ReadonlyMap<string, TextsBeside> {
  const byPrefix = new Map<string, TextsBeside>();
  for (const [prefix, slots] of slotsByPrefix(marks)) {
    const text = slots.map((slot) => slot.text).join("");
    byPrefix.set(prefix, { isChanged: slots.some(({ isChanged }) => isChanged), text });
  }
  return byPrefix;
}

/** Tokens in an event may be those of a text in another event, which a plugin changes: they must be the text beside them. */
function mayShowOtherText({ tokens, isWhole }: Probabilities, beside: TextsBeside | undefined): boolean {
  if (beside?.isChanged === true) return true;
  return !isWhole && tokens !== null && tokens !== (beside?.text ?? "");
}
