// What the load generator sends: bodies of one size whose texts are all new, the same body again and again, or conversations.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { chatTemplate, conversationTemplates, withNumber } from "./chat-payload.ts";

export interface Workload {
  /** As given on the command line: `20k`, `conversation`. */
  readonly name: string;
  readonly title: string;
  /** The mean size of a body. */
  readonly bytes: number;
  /** A body with numbers, for single requests. */
  readonly body: string;
  /** File with that body. */
  readonly bodyFile: string;
  /** Files with the templates that the load generator fills in; empty: it sends `bodyFile` every time. */
  readonly turnFiles: readonly string[];
}

export const CONVERSATION = "conversation";
const CONVERSATION_BYTES = 100_000;
const GROWTH_BYTES = 2000;
/** The first request and ten turns: with them, 90 % of the bytes have been sent before. */
const TURNS = 11;

const UNITS: Readonly<Record<string, number>> = { "": 1, k: 1000, m: 1_000_000 };
const MIN_BYTES = 1000;
const MAX_BYTES = 16_000_000;

/** Parses a list such as `1k,20k,conversation` and writes the bodies into `folder`; throws if the list is not valid. */
export function prepareWorkloads(folder: string, list: string, isSame = false): Workload[] {
  return [...new Set(list.split(","))].map((name) => prepareWorkload(folder, name.trim(), isSame));
}

function prepareWorkload(folder: string, name: string, isSame: boolean): Workload {
  const templates =
    name === CONVERSATION
      ? conversationTemplates(CONVERSATION_BYTES, GROWTH_BYTES, TURNS)
      : [chatTemplate(parseBytes(name))];
  const body = withNumber(templates[0]!, 0);
  const bodyFile = join(folder, `body-${name}.json`);
  writeFileSync(bodyFile, body);
  const turnFiles = templates.map((template, turn) => {
    const file = join(folder, `body-${name}-${turn + 1}.json`);
    writeFileSync(file, template);
    return file;
  });
  const bytes = templates.reduce((sum, { length }) => sum + length, 0) / templates.length;
  const shown = `${Math.round(bytes).toLocaleString("en")} bytes`;
  const title =
    name === CONVERSATION
      ? `conversations of ${TURNS} requests, ${shown} on average`
      : `a POST of ${shown}, ${isSame ? "always the same" : "new text in every request"}`;
  return { name, title, bytes, body, bodyFile, turnFiles: isSame ? [] : turnFiles };
}

function parseBytes(name: string): number {
  const [, number, unit = ""] = /^(\d+)([km]?)$/.exec(name) ?? [];
  const bytes = Number(number) * UNITS[unit]!;
  if (!(bytes >= MIN_BYTES && bytes <= MAX_BYTES))
    throw new Error(`--body has "${name}"; use sizes from 1k to 16m, such as 20k, or ${CONVERSATION}`);
  return bytes;
}
