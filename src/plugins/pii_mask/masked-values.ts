// The values that placeholders of one request represent, in a form that is cheap to pass between threads: a request may have a million
// values, and a map with as many entries takes a second to copy.

/** The values of one type, one after the other. The value with number n is located from `ends[n - 1]` to `ends[n]`; a number without one is empty. */
export interface ValuesOfType {
  /** In upper case, as in placeholders. */
  readonly name: string;
  readonly text: string;
  readonly ends: Uint32Array;
}

export class MaskedValues {
  readonly #types: ReadonlyMap<string, ValuesOfType>;

  constructor(types: readonly ValuesOfType[]) {
    this.#types = new Map(types.map((type) => [type.name, type]));
  }

  /** For a task in a worker thread. */
  get data(): ValuesOfType[] {
    return [...this.#types.values()];
  }

  /** `placeholder` is enclosed in angle brackets. */
  get(placeholder: string): string | undefined {
    const separator = placeholder.lastIndexOf("_");
    const type = this.#types.get(placeholder.slice(1, separator));
    if (type === undefined) return undefined;
    const digits = placeholder.slice(separator + 1, -1);
    const number = Number(digits);
    if (String(number) !== digits) return undefined;
    const [start, end] = [type.ends[number - 1], type.ends[number]];
    return start === undefined || end === undefined || start === end
      ? undefined
      : type.text.slice(start, end);
  }
}
