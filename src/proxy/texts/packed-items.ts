// Items with texts on their way between threads. Structured clone takes about 1.5 µs per item and copies all in one turn of the event loop.
// As JSON in large strings, which threads share, they are written and read piece by piece.
import { LARGE_LENGTH } from "../../off-loop/large-strings.ts";

/** An array of items as JSON, or one item whose text is large: a large text is shared without JSON. */
export type Piece<Item> = string | Item;

export function* packItems<Item extends object>(
  items: Iterable<Item>,
  textLengthOf: (item: Item) => number,
): Generator<Piece<Item>> {
  let written: string[] = [];
  let length = 0;
  const take = () => {
    const piece = `[${written.join(",")}]`;
    written = [];
    length = 0;
    return piece;
  };
  for (const item of items) {
    if (textLengthOf(item) >= LARGE_LENGTH) {
      if (written.length > 0) yield take();
      yield item;
      continue;
    }
    const json = JSON.stringify(item);
    written.push(json);
    length += json.length;
    if (length >= LARGE_LENGTH) yield take();
  }
  if (written.length > 0) yield take();
}

export function unpackItems<Item extends object>(piece: Piece<Item>): readonly Item[] {
  return typeof piece === "string" ? (JSON.parse(piece) as Item[]) : [piece];
}
