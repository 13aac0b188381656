// The words behind a command: flags with a value, flags that may come again, switches, and places.
import { nearestName } from "../base/nearest-name.ts";
import { UsageError } from "./command.ts";

export interface WordShape {
  /** Flags with one value. */
  readonly values?: readonly string[];
  /** Flags with a value that may come again. */
  readonly lists?: readonly string[];
  /** Flags without a value. */
  readonly switches?: readonly string[];
  /** What the words without a flag are called, in order. */
  readonly places?: readonly string[];
}

export class Words {
  readonly #values = new Map<string, string[]>();
  readonly #places: string[] = [];

  /** Refuses what `shape` does not know. `--name value` and `--name=value` are the same. */
  constructor(words: readonly string[], shape: WordShape) {
    const { values = [], lists = [], switches = [], places = [] } = shape;
    for (let index = 0; index < words.length; index++) {
      const word = words[index] ?? "";
      if (!word.startsWith("--")) {
        if (this.#places.length >= places.length) throw unknown(word, [...values, ...lists, ...switches]);
        this.#places.push(word);
        continue;
      }
      const [flag = "", inline] = word.split(/=(.*)/s);
      const isSwitch = switches.includes(flag);
      if (!isSwitch && !values.includes(flag) && !lists.includes(flag))
        throw unknown(word, [...values, ...lists, ...switches]);
      if (isSwitch && inline !== undefined) throw new UsageError(`${flag} takes no value`);
      const value = isSwitch ? "" : (inline ?? words[++index]);
      if (value === undefined) throw new UsageError(`${flag} needs a value`);
      const given = this.#values.get(flag) ?? [];
      if (given.length > 0 && !lists.includes(flag)) throw new UsageError(`${flag} is given twice`);
      this.#values.set(flag, [...given, value]);
    }
  }

  value(flag: string): string | undefined {
    return this.#values.get(flag)?.[0];
  }

  /** A value that must be there. */
  required(flag: string): string {
    const value = this.value(flag);
    if (value === undefined) throw new UsageError(`${flag} is missing; see --help`);
    return value;
  }

  list(flag: string): readonly string[] {
    return this.#values.get(flag) ?? [];
  }

  has(flag: string): boolean {
    return this.#values.has(flag);
  }

  place(index: number): string | undefined {
    return this.#places[index];
  }

  /** A word that must be there; `name` is what the usage calls it. */
  requiredPlace(index: number, name: string): string {
    const word = this.place(index);
    if (word === undefined) throw new UsageError(`${name} is missing; see --help`);
    return word;
  }

  /** A whole number within bounds, or what stands for it when the flag is absent. */
  number(flag: string, fallback: number, min: number, max: number): number {
    const text = this.value(flag);
    if (text === undefined) return fallback;
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < min || value > max)
      throw new UsageError(`${flag} is "${text}"; give a whole number from ${min} to ${max}`);
    return value;
  }
}

function unknown(word: string, flags: readonly string[]): UsageError {
  if (!word.startsWith("--")) return new UsageError(`"${word}" is one word too many; see --help`);
  const flag = word.split("=")[0] ?? "";
  const nearest = nearestName(flag, flags);
  const hint = nearest === null ? `known are ${[...flags, "--help"].join(", ")}` : `did you mean ${nearest}?`;
  return new UsageError(`unknown flag "${flag}"; ${hint}`);
}
