// Reads fields of JSON objects for translations. An absent or null field is undefined; a field of a wrong type throws a
// TranslationError with its path. OpenAI's SDKs send null for options that are not set, so null is never an error.
import { isJsonObject, type JsonObject } from "../base/json.ts";
import { TranslationError } from "./translation-error.ts";

export function readNumber(object: JsonObject, key: string, parent = ""): number | undefined {
  const value = object[key] ?? undefined;
  if (value === undefined || typeof value === "number") return value;
  throw wrongType(fieldPath(parent, key), "a number");
}

export function readString(object: JsonObject, key: string, parent = ""): string | undefined {
  const value = object[key] ?? undefined;
  if (value === undefined || typeof value === "string") return value;
  throw wrongType(fieldPath(parent, key), "a string");
}

export function readBoolean(object: JsonObject, key: string, parent = ""): boolean | undefined {
  const value = object[key] ?? undefined;
  if (value === undefined || typeof value === "boolean") return value;
  throw wrongType(fieldPath(parent, key), "true or false");
}

export function readArray(object: JsonObject, key: string, parent = ""): readonly unknown[] | undefined {
  const value = object[key] ?? undefined;
  if (value === undefined || Array.isArray(value)) return value;
  throw wrongType(fieldPath(parent, key), "an array");
}

export function readObject(object: JsonObject, key: string, parent = ""): JsonObject | undefined {
  const value = object[key] ?? undefined;
  if (value === undefined || isJsonObject(value)) return value;
  throw wrongType(fieldPath(parent, key), "an object");
}

export function requireString(object: JsonObject, key: string, parent = ""): string {
  const value = readString(object, key, parent);
  if (value === undefined) throw wrongType(fieldPath(parent, key), "a string");
  return value;
}

export function requireObject(value: unknown, path: string): JsonObject {
  if (isJsonObject(value)) return value;
  throw wrongType(path, "an object");
}

function fieldPath(parent: string, key: string): string {
  return parent === "" ? key : `${parent}.${key}`;
}

function wrongType(path: string, expected: string): TranslationError {
  return new TranslationError(path, `${path} must be ${expected}.`);
}
