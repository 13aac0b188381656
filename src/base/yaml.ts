// YAML documents: decodes them to plain values, as JSON would, with a limit on what aliases expand to.
import { GatehouseError, validationError, type ErrorDetail } from "./errors.ts";
import { isJsonObject, MAX_DEPTH, rejectUnstorable, type JsonObject } from "./json.ts";
import { YamlPositions, type DuplicateKey } from "./yaml-positions.ts";

const decoder = new TextDecoder("utf-8", { fatal: true });

interface YamlDocument {
  readonly object: JsonObject;
  /** Null if the document has unusual syntax. */
  readonly positions: YamlPositions | null;
}

/** Decodes a YAML (or JSON) document to a plain object. Throws a GatehouseError, also for values no record can store. */
export function parseYamlObject(bytes: Uint8Array): JsonObject {
  return parseYamlDocument(bytes).object;
}

/** Like `parseYamlObject`, with the positions of the values. */
export function parseYamlDocument(bytes: Uint8Array): YamlDocument {
  const text = decode(bytes);
  let value: unknown;
  try {
    value = Bun.YAML.parse(text);
  } catch (cause) {
    const isBomb = cause instanceof Error && cause.message.includes("aliasing");
    const reason = isBomb ? "its aliases expand to too many values" : `syntax error ${findError(text)}`;
    throw new GatehouseError("invalid_yaml", `The document is not valid YAML: ${reason}.`, { cause });
  }
  if (!isJsonObject(value))
    throw new GatehouseError("invalid_yaml", "The document must be an object, such as `gateways: […]`.");
  // Without aliases a document has fewer values than bytes; with aliases of aliases it can have any number.
  const object = copyObject(value, "", 1, { remaining: bytes.byteLength });
  rejectUnstorable(object, "", 1);
  const positions = YamlPositions.read(text, value);
  const duplicates = positions?.duplicates() ?? [];
  if (duplicates.length > 0) throw validationError(duplicates.map(duplicateDetail));
  return { object, positions };
}

/** YAML forbids keys that occur twice. Bun's parser uses the last one, and a value would be lost without notice. */
function duplicateDetail({ path, first, again }: DuplicateKey): ErrorDetail {
  const message = `is given twice, in line ${first.line} and in line ${again.line}; remove one of them`;
  return { path, message, ...again };
}

function decode(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch (cause) {
    throw new GatehouseError("invalid_yaml", "The document is not UTF-8.", { cause });
  }
}

/** The number of values that may still be copied. */
interface Budget {
  remaining: number;
}

/** Copies a parsed value, in which an alias is the same object as its anchor, so that every place has its own object. */
function copyValue(value: unknown, path: string, depth: number, budget: Budget): unknown {
  if (typeof value === "number" && !Number.isFinite(value))
    throw validationError([{ path, message: "must be a finite number" }]);
  if (isJsonObject(value)) return copyObject(value, path, depth, budget);
  spend(budget, depth);
  if (!Array.isArray(value)) return value;
  return value.map((item, index) => copyValue(item, `${path}[${index}]`, depth + 1, budget));
}

function copyObject(object: JsonObject, path: string, depth: number, budget: Budget): JsonObject {
  spend(budget, depth);
  const prefix = path === "" ? "" : `${path}.`;
  return Object.fromEntries(
    Object.entries(object).map(([key, item]) => [key, copyValue(item, prefix + key, depth + 1, budget)]),
  );
}

function spend(budget: Budget, depth: number): void {
  if (depth > MAX_DEPTH)
    throw validationError([{ path: "", message: `must not be nested more than ${MAX_DEPTH} levels deep` }]);
  if (budget.remaining-- <= 0)
    throw validationError([{ path: "", message: "has aliases that expand to too many values" }]);
}

/** For how long the line of an error is searched for: parsing the start of a large document takes seconds. */
const MAX_SEARCH_MS = 1000;

/** Bun's parser reports no position. Finds the first line that, with all lines before it, cannot be parsed. */
function findError(text: string): string {
  const lines = text.split("\n");
  const stopAt = performance.now() + MAX_SEARCH_MS;
  let [good, bad] = [0, lines.length];
  while (bad - good > 1) {
    if (performance.now() > stopAt) return `between line ${good + 1} and line ${bad}`;
    const middle = Math.floor((good + bad) / 2);
    try {
      Bun.YAML.parse(lines.slice(0, middle).join("\n"));
      good = middle;
    } catch {
      bad = middle;
    }
  }
  return `near line ${bad}`;
}
