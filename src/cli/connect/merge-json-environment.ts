// Sets variables in the `env` object of a JSON file. Everything else keeps its value and its order.
import { isJsonObject } from "../../base/json.ts";

const DEFAULT_INDENT = "  ";

/** Throws if the text is not such a file. */
export function mergeJsonEnvironment(before: string, variables: Readonly<Record<string, string>>): string {
  const settings = before.trim() === "" ? {} : parse(before);
  if (!isJsonObject(settings)) throw new Error("it is not a JSON object");
  const env = settings["env"] ?? {};
  if (!isJsonObject(env)) throw new Error('"env" in it is not an object');
  if (Object.entries(variables).every(([name, value]) => env[name] === value)) return before;
  const merged = { ...settings, env: { ...env, ...variables } };
  return `${JSON.stringify(merged, null, indentOf(before))}\n`;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error("it is not valid JSON");
  }
}

function indentOf(text: string): string {
  return /^\s*\{\r?\n([ \t]+)/.exec(text)?.[1] ?? DEFAULT_INDENT;
}
