// Where the keys and values of a YAML document are, and which keys are given twice: Bun's parser reports neither.
import { isJsonObject } from "./json.ts";
import { readYamlStructure, type YamlEntry, type YamlNode } from "./yaml-structure.ts";

/** Lines and columns count from 1. */
interface YamlPosition {
  readonly line: number;
  readonly column: number;
}

/** A key that its mapping has more than once. */
export interface DuplicateKey {
  readonly path: string;
  readonly first: YamlPosition;
  readonly again: YamlPosition;
}

/** A mapping with this key has keys that are not written in it. */
const MERGE_KEY = "<<";
const MAX_DUPLICATES = 50;

export class YamlPositions {
  readonly #root: YamlNode;
  readonly #text: string;
  #lineStarts: readonly number[] | null = null;

  private constructor(root: YamlNode, text: string) {
    this.#root = root;
    this.#text = text;
  }

  /** `value` is what Bun's parser returns for the text. Returns null if the text has syntax that is not known here. */
  static read(text: string, value: unknown): YamlPositions | null {
    const root = readYamlStructure(text);
    return root !== null && matches(root, value) ? new YamlPositions(root, text) : null;
  }

  /** Returns where the value at a path such as `gateways[0].name` is, or the nearest value around it that exists. */
  at(path: string): YamlPosition {
    let node = this.#root;
    let { offset } = node;
    let rest = path;
    for (;;) {
      const step = childAt(node, rest);
      if (step === null) return this.#position(offset);
      ({ node, offset, rest } = step);
    }
  }

  /** Returns at most MAX_DUPLICATES. */
  duplicates(): DuplicateKey[] {
    const found: DuplicateKey[] = [];
    const visit = (node: YamlNode, path: string): void => {
      if (node.kind === "list")
        for (const [index, item] of node.items.entries()) visit(item, `${path}[${index}]`);
      if (node.kind !== "map") return;
      const seen = new Map<string, YamlEntry>();
      for (const entry of node.entries) {
        const at = path === "" ? entry.key : `${path}.${entry.key}`;
        const known = seen.get(entry.key);
        if (known === undefined) seen.set(entry.key, entry);
        else if (found.length < MAX_DUPLICATES)
          found.push({ path: at, first: this.#position(known.offset), again: this.#position(entry.offset) });
        visit(entry.value, at);
      }
    };
    visit(this.#root, "");
    return found;
  }

  #position(offset: number): YamlPosition {
    const starts = (this.#lineStarts ??= lineStartsOf(this.#text));
    const line = starts.findLastIndex((start) => start <= offset);
    return { line: line + 1, column: offset - (starts[line] ?? 0) + 1 };
  }
}

interface Step {
  readonly node: YamlNode;
  readonly offset: number;
  /** The path below the node. */
  readonly rest: string;
}

/** Returns the child that the first part of the path names. A key may contain dots and brackets, so the longest one counts. */
function childAt(node: YamlNode, path: string): Step | null {
  if (node.kind === "list") {
    const [part = "", index] = /^\[(\d+)\]/.exec(path) ?? [];
    const item = index === undefined ? undefined : node.items[Number(index)];
    return item === undefined ? null : { node: item, offset: item.offset, rest: path.slice(part.length) };
  }
  if (node.kind !== "map") return null;
  const name = path.startsWith(".") ? path.slice(1) : path;
  let best: YamlEntry | null = null;
  for (const entry of node.entries) {
    const isNamed = name.startsWith(entry.key) && /^(?:$|[.[])/.test(name.slice(entry.key.length));
    if (isNamed && (best === null || entry.key.length >= best.key.length)) best = entry;
  }
  if (best === null || path === "") return null;
  return { node: best.value, offset: best.offset, rest: name.slice(best.key.length) };
}

function lineStartsOf(text: string): number[] {
  const starts = [0];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return starts;
}

/** Whether Bun's parser found the same structure. */
function matches(node: YamlNode, value: unknown): boolean {
  if (node.kind === "alias") return true;
  if (node.kind === "list")
    return (
      Array.isArray(value) &&
      value.length === node.items.length &&
      node.items.every((item, index) => matches(item, value[index]))
    );
  if (node.kind !== "map") return typeof value !== "object" || value === null;
  if (!isJsonObject(value)) return false;
  const last = new Map<string, YamlNode>();
  for (const { key, value: child } of node.entries) last.set(key, child);
  if (!last.delete(MERGE_KEY) && Object.keys(value).length !== last.size) return false;
  for (const [key, child] of last)
    if (!Object.hasOwn(value, key) || !matches(child, value[key])) return false;
  return true;
}
