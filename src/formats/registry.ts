// The registry of wire formats. To add one: a folder with its entry, its name in format-names.ts, and a line in FORMATS.
import type { ReadableFields } from "../base/readable-fields.ts";
import { ANTHROPIC } from "./anthropic/anthropic-format.ts";
import { HUB_FORMAT, type FormatName } from "./format-names.ts";
import type { Format } from "./format.ts";
import { GEMINI } from "./gemini/gemini-format.ts";
import { OPENAI } from "./openai/openai-format.ts";
import { RESPONSES } from "./responses/responses-format.ts";

const FORMATS: Readonly<Record<FormatName, Format>> = {
  openai: OPENAI,
  anthropic: ANTHROPIC,
  responses: RESPONSES,
  gemini: GEMINI,
};
const ALL = Object.values(FORMATS);

export function formatNamed(name: FormatName): Format {
  return FORMATS[name];
}

/** Whether a request to this path is known to be something else than a chat request of the format, and is never translated to it. */
export function isOtherEndpoint(path: string, format: Format): boolean {
  if (format.isChatPath(path)) return false;
  return formatOfChatPath(path) !== null || ALL.some((each) => each.isOtherMessagesPath(path));
}

/** Returns the format that the client of a request expects responses in. */
export function formatOfClient(path: string, headers: ReadableFields): Format {
  const format = formatOfChatPath(path) ?? ALL.find((each) => each.isFromClient(path, headers));
  return format ?? FORMATS[HUB_FORMAT];
}

/** Returns the format that has a chat endpoint at this path, or null. */
export function formatOfChatPath(path: string): Format | null {
  return ALL.find((format) => format.isChatPath(path)) ?? null;
}
