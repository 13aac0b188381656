// Names of functions. Gemini requires a letter or an underscore at the start; other formats also allow digits and hyphens.

const PREFIX = "_gw_";
const VALID_START = /^[a-zA-Z_]/;

export function encodeToolName(name: string): string {
  return VALID_START.test(name) ? name : PREFIX + name;
}

export function decodeToolName(name: string): string {
  if (!name.startsWith(PREFIX)) return name;
  const original = name.slice(PREFIX.length);
  // A tool may have a name with the prefix itself.
  return VALID_START.test(original) ? name : original;
}
