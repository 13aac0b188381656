// YAML at the door: the same plain values as JSON would give, bounded whatever aliases a document makes of itself.
import { GatehouseError, validationError } from "./errors.ts";
import { isJsonObject, MAX_DEPTH, rejectUnstorable, type JsonObject } from "./json.ts";

const decoder = new TextDecoder("utf-8", { fatal: true });

/** Decodes a document into a plain object, refusing what no record may hold. JSON is YAML too. */
export function parseYamlObject(bytes: Uint8Array): JsonObject {
  const text = decode(bytes);
  let value: unknown;
  try {
    value = Bun.YAML.parse(text);
  } catch (cause) {
    const isBomb = cause instanceof Error && cause.message.includes("aliasing");
    const reason = isBomb ? "has aliases that repeat too much" : `breaks off near line ${faultyLine(text)}`;
    throw new GatehouseError("invalid_yaml", `The document is not valid YAML: it ${reason}.`, { cause });
  }
  if (!isJsonObject(value))
    throw new GatehouseError("invalid_yaml", "The document must be an object, such as `gateways: […]`.");
  // Written out, a document has fewer values than bytes; with aliases of aliases it could have any number.
  const object = copyPlain(value, "", 1, { left: bytes.byteLength }) as JsonObject;
  rejectUnstorable(object, "", 1);
  return object;
}

function decode(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch (cause) {
    throw new GatehouseError("invalid_yaml", "The document is not UTF-8.", { cause });
  }
}

/** A copy without aliases, which in the parsed value are one object in many places. */
function copyPlain(value: unknown, path: string, depth: number, budget: { left: number }): unknown {
  if (budget.left-- <= 0 || depth > MAX_DEPTH)
    throw validationError([{ path: "", message: "is too deep, or has aliases that repeat too much" }]);
  if (typeof value === "number" && !Number.isFinite(value))
    throw validationError([{ path, message: "must be a finite number" }]);
  if (typeof value !== "object" || value === null) return value;
  const below = depth + 1;
  if (Array.isArray(value))
    return value.map((item, index) => copyPlain(item, `${path}[${index}]`, below, budget));
  const place = path === "" ? "" : `${path}.`;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, copyPlain(item, place + key, below, budget)]),
  );
}

/** The parser tells no place: the first line that, with all before it, cannot be parsed is a good guess. */
function faultyLine(text: string): number {
  const lines = text.split("\n");
  let [good, bad] = [0, lines.length];
  while (bad - good > 1) {
    const middle = Math.floor((good + bad) / 2);
    try {
      Bun.YAML.parse(lines.slice(0, middle).join("\n"));
      good = middle;
    } catch {
      bad = middle;
    }
  }
  return bad;
}
