// The members by which a format says where its texts and calls are. Some clients ignore the case of names (Go's encoding/json does), or read
// the first of two equal ones: a response in which these clients find something else than the gateway is rejected.
import { GatehouseError } from "../base/errors.ts";
import type { JsonNode } from "../base/json-nodes.ts";

export class MemberNames {
  /** The exact spellings, and their folded form. */
  readonly #spellings = new Map<string, string>();
  readonly #folded = new Set<string>();
  readonly #isSnakeCaseRead: boolean;

  /** `isSnakeCaseRead`: clients read `function_call` for `functionCall`. */
  constructor(names: readonly string[], isSnakeCaseRead = false) {
    this.#isSnakeCaseRead = isSnakeCaseRead;
    for (const name of names) {
      const folded = this.#fold(name);
      this.#folded.add(folded);
      this.#spellings.set(name, folded);
      if (isSnakeCaseRead) this.#spellings.set(snakeCase(name), folded);
    }
  }

  /** Throws if a member of the object is spelled in another way, or occurs twice. */
  check({ keys }: JsonNode): void {
    for (const [index, key] of keys.entries()) {
      const folded = this.#spellings.get(key);
      if (folded === undefined) {
        if (this.#folded.has(this.#fold(key))) throw ambiguous(key);
      } else if (this.#isSnakeCaseRead) {
        if (keys.findIndex((other) => this.#spellings.get(other) === folded) < index) throw ambiguous(key);
      } else if (keys.indexOf(key) < index) throw ambiguous(key);
    }
  }

  /** Returns the names for the value of a member; null if its members are not those of the format. */
  below(key: string): MemberNames | null {
    return this.#spellings.has(key) && !FREE.has(key) ? this : null;
  }

  /** As Go folds names: also the characters outside of ASCII whose upper or lower case is an ASCII letter. */
  #fold(name: string): string {
    const folded = name.toUpperCase().toLowerCase();
    return this.#isSnakeCaseRead ? folded.replaceAll("_", "") : folded;
  }
}

/** Members with values of the caller's own. */
const FREE = new Set(["arguments", "args", "input", "error"]);
const MAX_SHOWN = 64;

function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function ambiguous(key: string): GatehouseError {
  return new GatehouseError(
    "upstream_bad_answer",
    `The provider's response has the member ${JSON.stringify(key.slice(0, MAX_SHOWN))} twice, or spelled in another way: clients may read another one than the plugins that inspect it.`,
  );
}
