// A model that repeats what it was sent, behind pii_mask: what a client gets back must be what it sent.
import type { FormatName } from "../../src/formats/format-names.ts";
import { formatNamed } from "../../src/formats/registry.ts";
import { OffLoop } from "../../src/off-loop/off-loop.ts";
import { compileSearch } from "../../src/plugins/pii_mask/mask-body.ts";
import { MaskedValues } from "../../src/plugins/pii_mask/masked-values.ts";
import { restore } from "../../src/plugins/pii_mask/placeholders.ts";
import { TYPES } from "../../src/plugins/pii_mask/settings.ts";
import { TextHolds } from "../../src/proxy/texts/text-holds.ts";
import { TextStage } from "../../src/proxy/texts/text-stage.ts";
import { completeHolds } from "../../src/sdk/texts.ts";
import { readStreamedResponse, readWholeResponse, streamedResponse, wholeResponse } from "./text-streams.ts";

/** Starts no thread for texts of this size. */
const offLoop = new OffLoop();
const ROLES = ["system", "developer", "user", "assistant", "tool", "other"] as const;
const CUSTOM = [{ name: "badge", pattern: 'B"[^x]{1,4}' }];
const search = compileSearch({ types: [...TYPES], custom: CUSTOM, roles: [...ROLES], action: "mask" });

interface RoundTrip {
  readonly format: FormatName;
  readonly isStream: boolean;
  readonly text: string;
  /** Numbers of placeholders are derived from values with it. */
  readonly key: string | null;
  /** The sizes of the pieces of text, and of the chunks of bytes. */
  readonly pieceSize: number;
  readonly chunkSize: number;
}

/** Returns what was sent to the provider, and what the client read. */
export async function roundTrip({ format, isStream, text, key, pieceSize, chunkSize }: RoundTrip): Promise<{
  readonly sent: string;
  readonly content: string;
  readonly argument: string;
}> {
  const request = { messages: [{ role: "user", content: text }] };
  const { body, values } = search(Buffer.from(JSON.stringify(request)), "application/json", key);
  const maskedValues = new MaskedValues(values === null ? [] : [values]);
  const masked = body === null ? request : (JSON.parse(Buffer.from(body).toString()) as typeof request);
  const sent = masked.messages[0]?.content ?? "";
  const args = JSON.stringify({ value: sent });
  const reader = formatNamed(format).texts;
  const holds = new TextHolds({
    limits: completeHolds(),
    now: () => 0,
    repeats: reader.repeats,
    isStream,
    ask: ({ channel, text: given, isLast, isForced }) => {
      const restored = restore(given, maskedValues, channel.isJson, isLast || isForced);
      return Promise.resolve({ length: restored.length, replacement: restored.text });
    },
  });
  const stage = new TextStage({
    reader,
    isStream,
    isStrict: true,
    choices: 1,
    holds: [holds],
    toError: ({ rejection }) => ({ ...rejection, field: null, requestId: "" }),
    offLoop,
  });
  if (!isStream) {
    const whole = wholeResponse(format, { content: sent, reasoning: "r", toolArguments: args });
    const read = readWholeResponse(format, Buffer.from(await stage.run(Buffer.from(whole), true)).toString());
    return { sent, content: read.content, argument: argumentOf(read.toolArguments) };
  }
  const pieces = { content: cut(sent, pieceSize), reasoning: ["r"], toolArguments: cut(args, pieceSize) };
  const bytes = Buffer.from(streamedResponse(format, pieces));
  const received: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += chunkSize)
    received.push(await stage.run(bytes.subarray(at, at + chunkSize), false));
  received.push(await stage.run(new Uint8Array(0), true));
  const read = readStreamedResponse(format, Buffer.concat(received));
  return { sent, content: read.content, argument: argumentOf(read.toolArguments) };
}

function argumentOf(json: string): string {
  return (JSON.parse(json) as { value: string }).value;
}

/** In UTF-16 code units, so that pieces may end within a character. */
function cut(text: string, size: number): string[] {
  const pieces: string[] = [];
  for (let at = 0; at < text.length; at += size) pieces.push(text.slice(at, at + size));
  return pieces.length === 0 ? [""] : pieces;
}
