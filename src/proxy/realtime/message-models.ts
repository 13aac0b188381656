// The models that a client names in the messages of a WebSocket. Some providers let a message choose or change the model.
import type { ModelAllowList } from "../../snapshot/model-allow-list.ts";

/** A JSON string, and what follows it if it is a key: the colon and the start of the value. */
const STRING_AND_VALUE = /("(?:[^"\\]|\\.)*")(?:\s*:\s*("(?:[^"\\]|\\.)*")?)?/gs;

/**
 * Returns the first model in a message that the key may not use, or null. Every field named `model` counts, wherever it is and
 * however it is written, also if it occurs twice. The message is searched as text: it need not be valid JSON for a provider
 * that reads it leniently.
 */
export function forbiddenModelIn(message: string | Buffer, allowed: ModelAllowList): string | null {
  const text = typeof message === "string" ? message : message.toString();
  // An escaped name has a backslash.
  if (!/model|\\/i.test(text)) return null;
  let at = 0;
  for (;;) {
    STRING_AND_VALUE.lastIndex = at;
    const match = STRING_AND_VALUE.exec(text);
    if (match === null) return null;
    const [, name = "", value] = match;
    at = match.index + name.length;
    if (value === undefined || decode(name).toLowerCase() !== "model") continue;
    const model = decode(value);
    if (!allowed.allows(model)) return model;
  }
}

function decode(quoted: string): string {
  try {
    const text: unknown = JSON.parse(quoted);
    return typeof text === "string" ? text : quoted;
  } catch {
    return quoted.slice(1, -1);
  }
}
