// The values that placeholders of a request represent, in a form that is cheap to pass between threads: a
// request may have a million values, and a map with as many entries takes a second to copy.

/** Entry n of a list is located from `ends[n - 1]` to `ends[n]` of its text. */
interface TextList {
  readonly text: string;
  readonly ends: Uint32Array;
}

/**
 * A hash table with open addressing. A placeholder that the request itself contains has itself as its value.
 */
export interface ValueTable {
  readonly placeholders: TextList;
  readonly values: TextList;
  /** The number of an entry, counted from 1; 0 for an empty slot. */
  readonly slots: Uint32Array;
  /** Random, so that a client cannot send placeholders that all have the same slot. */
  readonly seed: number;
}

/** Characters of placeholders and values that are added to a call, which may be open for hours. */
const MAX_ADDED = 256 * 1024;

export function valueTable(values: ReadonlyMap<string, string>): ValueTable {
  const slots = new Uint32Array(2 ** Math.ceil(Math.log2(2 * values.size + 1)));
  const seed = Math.floor(Math.random() * 2 ** 32);
  let entry = 0;
  for (const placeholder of values.keys()) {
    let slot = slotOf(placeholder, seed, slots);
    while (slots[slot] !== 0) slot = (slot + 1) % slots.length;
    slots[slot] = ++entry;
  }
  return { placeholders: listOf([...values.keys()]), values: listOf([...values.values()]), slots, seed };
}

export class MaskedValues {
  /** Of the request itself, and of the client's responses to questions that servers ask during it. */
  readonly #tables: readonly ValueTable[];

  constructor(tables: readonly ValueTable[]) {
    this.#tables = tables;
  }

  /** For a task in a worker thread. */
  get data(): readonly ValueTable[] {
    return this.#tables;
  }

  /** `placeholder` is enclosed in angle brackets. */
  get(placeholder: string): string | undefined {
    let found: string | undefined;
    for (const table of this.#tables) {
      const value = find(table, placeholder);
      if (value === undefined) continue;
      if (found !== undefined && found !== value) return undefined;
      found = value;
    }
    return found === placeholder ? undefined : found;
  }

  /**
   * Returns all values, or those that were known before if there would be too many. A placeholder with two
   * values has none.
   */
  with(added: ValueTable): MaskedValues {
    const [own = added, before] = this.#tables;
    const length = [before, added].reduce((sum, table) => sum + lengthOf(table), 0);
    if (length > MAX_ADDED) return this;
    const values = new Map(before === undefined ? [] : entriesOf(before));
    for (const [placeholder, value] of entriesOf(added))
      values.set(placeholder, (values.get(placeholder) ?? value) === value ? value : placeholder);
    return new MaskedValues([own, valueTable(values)]);
  }
}

function find({ placeholders, values, slots, seed }: ValueTable, placeholder: string): string | undefined {
  for (let slot = slotOf(placeholder, seed, slots); ; slot = (slot + 1) % slots.length) {
    const entry = slots[slot] ?? 0;
    if (entry === 0) return undefined;
    if (textAt(placeholders, entry) === placeholder) return textAt(values, entry);
  }
}

function slotOf(placeholder: string, seed: number, { length }: Uint32Array): number {
  return Bun.hash.xxHash32(placeholder, seed) % length;
}

function listOf(texts: readonly string[]): TextList {
  let end = 0;
  return { text: texts.join(""), ends: Uint32Array.from([0, ...texts.map((text) => (end += text.length))]) };
}

function textAt({ text, ends }: TextList, entry: number): string {
  return text.slice(ends[entry - 1], ends[entry]);
}

function* entriesOf({ placeholders, values }: ValueTable): Generator<[string, string]> {
  for (let entry = 1; entry < placeholders.ends.length; entry++)
    yield [textAt(placeholders, entry), textAt(values, entry)];
}

function lengthOf(table: ValueTable | undefined): number {
  return table === undefined ? 0 : table.placeholders.text.length + table.values.text.length;
}
