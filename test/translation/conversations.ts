// Generates what all formats can express: requests, completions, and streams in the hub format.
import fc from "fast-check";
import type { JsonObject } from "../../src/base/json.ts";
import type {
  ChatCompletion,
  ChatCompletionChunk,
  ChatDelta,
  ChatFinishReason,
  ChatToolCall,
  ChatUsage,
} from "../../src/formats/openai/wire-types.ts";
import { grapheme } from "../support/characters.ts";

const CREATED = 1_760_000_000;
const MODEL = "any-model";
const ID = "resp_1";

/** Never empty and never blank at its ends: formats leave out empty texts, and Anthropic's API rejects blank ones. */
const text = fc.oneof(
  fc.constantFrom("Hi", "Größe 🚀", 'a "quoted"\nline', "data: [DONE]\n\nevent: x", "\u2028</script>", "\\"),
  fc.string({ minLength: 1, maxLength: 30, unit: grapheme }).map((each) => `<${each}>`),
);
const name = fc.stringMatching(/^[a-zA-Z0-9_-]{1,20}$/);
const value = fc.oneof(text, fc.integer(), fc.boolean(), fc.constant(null), fc.array(fc.integer()));
const args = fc
  .dictionary(
    name.filter((key) => key !== "__proto__"),
    value,
    { maxKeys: 4 },
  )
  .map((each) => ({ ...each }));
const schema: fc.Arbitrary<JsonObject> = fc.uniqueArray(name, { maxLength: 4 }).map((names) => ({
  type: "object",
  properties: Object.fromEntries(names.map((each) => [each, { type: "string", description: each }])),
  required: names,
  additionalProperties: false,
}));

const image = fc.constantFrom(
  "data:image/png;base64,iVBORw0KGgo=",
  "data:image/jpeg;base64,/9j/4AAQ",
  "https://example.com/cat.png?size=2",
);
const textPart = text.map((each) => ({ type: "text", text: each }));
const imagePart = image.map((url) => ({ type: "image_url", image_url: { url } }));
const filePart = fc.constantFrom({
  type: "file",
  file: { filename: "a.pdf", file_data: "data:application/pdf;base64,JVBERi0=" },
});
const userContent = fc.oneof(
  text,
  // A single text part is the same as the text.
  fc
    .tuple(textPart, fc.array(fc.oneof(textPart, imagePart, filePart), { minLength: 1, maxLength: 3 }))
    .map(([first, rest]): JsonObject[] => [first, ...rest]),
);

interface Call {
  readonly name: string;
  readonly args: JsonObject;
  readonly result: string;
  readonly isError: boolean;
}

const call: fc.Arbitrary<Call> = fc.record({ name, args, result: text, isError: fc.boolean() });

interface Turn {
  readonly user: unknown;
  readonly steps: readonly { readonly text: string | null; readonly calls: readonly Call[] }[];
  readonly reply: string;
}

const turn: fc.Arbitrary<Turn> = fc.record({
  user: userContent,
  steps: fc.array(
    fc.record({
      text: fc.option(text),
      calls: fc.array(call, { minLength: 1, maxLength: 3 }),
    }),
    { maxLength: 2 },
  ),
  reply: text,
});

/** Turns of user and assistant, with steps of tool calls between them. The last turn has no reply. */
function toMessages(system: string | null, turns: readonly Turn[]): JsonObject[] {
  const messages: JsonObject[] = system === null ? [] : [{ role: "system", content: system }];
  let calls = 0;
  for (const [index, { user, steps, reply }] of turns.entries()) {
    messages.push({ role: "user", content: user });
    for (const step of steps) {
      const first = calls;
      calls += step.calls.length;
      messages.push({
        role: "assistant",
        content: step.text,
        tool_calls: step.calls.map((each, at) => toToolCall(each, `call_${first + at}`)),
      });
      for (const [at, { result, isError }] of step.calls.entries())
        messages.push({
          role: "tool",
          tool_call_id: `call_${first + at}`,
          content: result,
          ...(isError ? { is_error: true } : {}),
        });
    }
    if (index < turns.length - 1) messages.push({ role: "assistant", content: reply });
  }
  return messages;
}

function toToolCall(each: Call, id: string): ChatToolCall {
  return { id, type: "function", function: { name: each.name, arguments: JSON.stringify(each.args) } };
}

const tool = fc.record({ name, description: text, parameters: schema });

interface ToolFields {
  readonly definitions: readonly { readonly name: string }[];
  readonly choice: "auto" | "none" | "required" | "named" | null;
}

const tools = fc.record({
  definitions: fc.uniqueArray(tool, { minLength: 1, maxLength: 3, selector: (each) => each.name }),
  choice: fc.constantFrom("auto", "none", "required", "named", null),
});

function toToolFields({ definitions, choice }: ToolFields): JsonObject {
  const named = { type: "function", function: { name: definitions[0]?.name } };
  return {
    tools: definitions.map((each) => ({ type: "function", function: each })),
    ...(choice === null ? {} : { tool_choice: choice === "named" ? named : choice }),
  };
}

/** The name is the one that formats without names for schemas get back. */
const responseFormat = schema.map((each) => ({
  type: "json_schema",
  json_schema: { name: "output", strict: true, schema: each },
}));

/** Requests of the subset that the formats share. */
export const requests: fc.Arbitrary<JsonObject> = fc
  .record({
    system: fc.option(text),
    turns: fc.array(turn, { minLength: 1, maxLength: 3 }),
    tools: fc.option(tools),
    sampling: fc.constantFrom({}, { temperature: 0.25 }, { top_p: 0.5 }),
    stop: fc.option(fc.array(text, { minLength: 1, maxLength: 4 })),
    max_tokens: fc.integer({ min: 16, max: 100_000 }),
    format: fc.option(responseFormat),
    // False is the default, which formats leave out.
    stream: fc.constantFrom({}, { stream: true }),
  })
  .map(({ system, turns, tools: toolFields, sampling, stop, max_tokens, format, stream }) => ({
    model: MODEL,
    messages: toMessages(system, turns),
    ...(toolFields === null ? {} : toToolFields(toolFields)),
    ...sampling,
    ...(stop === null ? {} : { stop }),
    max_tokens,
    ...(format === null ? {} : { response_format: format }),
    ...stream,
  }));

const usage: fc.Arbitrary<ChatUsage> = fc
  .record({ fresh: fc.nat(9999), cached: fc.nat(9999), output: fc.nat(9999), reasoning: fc.nat(9999) })
  .map(({ fresh, cached, output, reasoning }) => ({
    prompt_tokens: fresh + cached,
    completion_tokens: output + reasoning,
    total_tokens: fresh + cached + output + reasoning,
    prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: reasoning },
  }));

/** What a model replies, whole or in pieces. */
interface Reply {
  readonly reasoning: string;
  readonly content: string;
  readonly calls: readonly Call[];
  readonly isCut: boolean;
  readonly usage: ChatUsage;
}

const reply: fc.Arbitrary<Reply> = fc.record({
  reasoning: fc.oneof(fc.constant(""), text),
  content: text,
  calls: fc.array(call, { maxLength: 3 }),
  isCut: fc.boolean(),
  usage,
});

function finishOf({ calls, isCut }: Reply): ChatFinishReason {
  if (isCut) return "length";
  return calls.length > 0 ? "tool_calls" : "stop";
}

function callsOf({ calls }: Reply): ChatToolCall[] {
  return calls.map((each, index) => toToolCall(each, `call_${index}`));
}

export const completions: fc.Arbitrary<ChatCompletion> = reply.map((each) => ({
  id: ID,
  object: "chat.completion",
  created: CREATED,
  model: MODEL,
  choices: [
    {
      index: 0,
      message: {
        role: "assistant",
        content: each.content,
        refusal: null,
        ...(each.reasoning === "" ? {} : { reasoning_content: each.reasoning }),
        ...(each.calls.length === 0 ? {} : { tool_calls: callsOf(each) }),
      },
      logprobs: null,
      finish_reason: finishOf(each),
    },
  ],
  usage: each.usage,
}));

/** Streams as decoders pass them on: reasoning, text, tool calls, finish reason, usage. */
export const streams: fc.Arbitrary<ChatCompletionChunk[]> = fc
  .tuple(reply, fc.integer({ min: 1, max: 7 }), fc.boolean())
  .map(([each, pieceLength, isInterleaved]) => {
    const deltas: ChatDelta[] = [{ role: "assistant", content: "" }];
    for (const piece of piecesOf(each.reasoning, pieceLength)) deltas.push({ reasoning_content: piece });
    for (const piece of piecesOf(each.content, pieceLength)) deltas.push({ content: piece });
    const calls = callsOf(each).map((whole, index) => callDeltas(whole, index, pieceLength));
    deltas.push(...(isInterleaved ? interleaved(calls) : calls.flat()));
    const chunks = deltas.map((delta) => chunkOf(delta, null));
    return [...chunks, chunkOf({}, finishOf(each)), { ...chunkOf({}, null), choices: [], usage: each.usage }];
  });

function callDeltas(
  { id, type, function: called }: ChatToolCall,
  index: number,
  pieceLength: number,
): ChatDelta[] {
  const start = { tool_calls: [{ index, id, type, function: { name: called.name, arguments: "" } }] };
  const pieces = piecesOf(called.arguments, pieceLength);
  return [start, ...pieces.map((piece) => ({ tool_calls: [{ index, function: { arguments: piece } }] }))];
}

/** Some servers generate parallel calls at the same time. */
function interleaved(calls: readonly ChatDelta[][]): ChatDelta[] {
  const longest = Math.max(0, ...calls.map((deltas) => deltas.length));
  return Array.from({ length: longest }, (_, at) => calls.flatMap((deltas) => deltas[at] ?? [])).flat();
}

function chunkOf(delta: ChatDelta, finish_reason: ChatFinishReason | null): ChatCompletionChunk {
  return {
    id: ID,
    object: "chat.completion.chunk",
    created: CREATED,
    model: MODEL,
    choices: [{ index: 0, delta, logprobs: null, finish_reason }],
  };
}

/** Characters stay whole: no provider sends half of a surrogate pair. */
function piecesOf(whole: string, length: number): string[] {
  const characters = Array.from(whole);
  const pieces: string[] = [];
  for (let at = 0; at < characters.length; at += length)
    pieces.push(characters.slice(at, at + length).join(""));
  return pieces;
}
