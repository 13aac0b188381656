// Counts the steps of reading a JSON document: what is read of its nodes, keys and strings, and what is added to sets and maps. Unlike time,
// the number is the same in every run.
import { expect } from "bun:test";
import { JsonDocument, type JsonNode } from "../../src/base/json-nodes.ts";
import { isLong } from "./long-form.ts";

const [FEW, MANY] = [30, 180];
/** Linear work has MANY / FEW times as many steps, quadratic work the square of it. */
const MAX_FACTOR = (2 * MANY) / FEW;

/** Fails if the steps of `read` grow faster than the JSON, which has `count` of something. */
export function expectLinear(
  jsonOf: (count: number) => string,
  read: (document: JsonDocument) => void,
): void {
  const [few, many] = [countSteps(jsonOf(FEW), read), countSteps(jsonOf(MANY), read)];
  if (many / few > MAX_FACTOR)
    expect(`${few} and ${many} steps for ${jsonOf(FEW).slice(0, 300)}`).toBe("linear");
}

function countSteps(json: string, read: (document: JsonDocument) => void): number {
  const document = JsonDocument.parse(Buffer.from(json));
  if (document === null) throw new Error("the test has no JSON");
  let steps = 0;
  const add = (count: number) => {
    steps += count;
  };
  watch(document.root, add);
  for (const method of ["text", "source"] as const) {
    const original = document[method].bind(document);
    Object.defineProperty(document, method, {
      value: (node: JsonNode | null) => {
        add(node === null ? 1 : 1 + (node.end - node.start) / CHARACTERS_PER_STEP);
        return node === null ? null : original(node);
      },
    });
  }
  const watched = [watchMethod(Set.prototype, "add", add), watchMethod(Map.prototype, "set", add)];
  try {
    read(document);
  } finally {
    for (const restore of watched) restore();
  }
  return steps;
}

/** The runtime decodes a string many times faster than a loop. */
const CHARACTERS_PER_STEP = 64;

function watch(node: JsonNode, add: (count: number) => void): void {
  for (const child of node.children) watch(child, add);
  const counted = <T extends object>(list: T) =>
    new Proxy(list, {
      get: (target, key) => {
        add(1);
        return Reflect.get(target, key) as unknown;
      },
    });
  for (const name of ["keys", "children"] as const)
    Object.defineProperty(node, name, { value: counted(node[name]) });
  const { start } = node;
  Object.defineProperty(node, "start", {
    get: () => {
      add(1);
      return start;
    },
  });
}

/** Returns a function that ends the watch. */
function watchMethod(prototype: object, name: string, add: (count: number) => void): () => void {
  const descriptor = Object.getOwnPropertyDescriptor(prototype, name);
  const original: unknown = descriptor?.value;
  if (descriptor === undefined || typeof original !== "function") throw new Error(`${name} is no method`);
  const value = function (this: unknown, ...given: unknown[]): unknown {
    add(1);
    return Reflect.apply(original, this, given);
  };
  Object.defineProperty(prototype, name, { ...descriptor, value });
  return () => Object.defineProperty(prototype, name, descriptor);
}

/** In the long form, the CPU time of `work` must grow like `count`; in the short form it only has to work. */
export function expectLinearTime(work: (count: number) => void): void {
  if (!isLong) {
    work(20);
    return;
  }
  const few = shortest(() => work(2000));
  const many = shortest(() => work(16_000));
  // Quadratic work takes 64 times as long. Less than this is lost in what the runtime does besides.
  if (many > MIN_MS) expect(many / Math.max(few, MIN_MS / 24)).toBeLessThan(24);
}

const MIN_MS = 200;

function shortest(work: () => void): number {
  const times = Array.from({ length: 3 }, () => {
    const before = process.threadCpuUsage();
    work();
    const { user, system } = process.threadCpuUsage(before);
    return (user + system) / 1000;
  });
  return Math.min(...times);
}
