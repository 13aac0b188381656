// Calls of custom tools, whose input is text instead of JSON. In the hub format they are calls of functions with one field,
// `input`; chat clients that defined custom tools get calls of custom tools back.
import { parseBounded } from "../../base/bounded-json.ts";
import { HeldText, ITEM_LENGTH } from "../held-text.ts";
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import type { ChatCompletion, ChatCompletionChunk, ChatDelta } from "./wire-types.ts";

/** Returns the text that a model wrote as the arguments of a custom tool. */
export function customInputOf(json: string): string {
  let value: unknown;
  try {
    value = parseBounded(json);
  } catch {
    value = null;
  }
  const input = isJsonObject(value) ? value["input"] : null;
  // A model that does not follow the schema usually writes the input itself.
  return typeof input === "string" ? input : json;
}

export function withCustomCalls(completion: ChatCompletion, customTools: readonly string[]): object {
  const [choice] = completion.choices;
  const names = new Set(customTools);
  const calls = choice.message.tool_calls?.map((call) => {
    const { name, arguments: json } = call.function;
    if (!names.has(name)) return call;
    return { id: call.id, type: "custom", custom: { name, input: customInputOf(json) } };
  });
  if (calls === undefined) return completion;
  return { ...completion, choices: [{ ...choice, message: { ...choice.message, tool_calls: calls } }] };
}

type CallDeltas = NonNullable<ChatDelta["tool_calls"]>;

/** Rewrites the chunks of one stream. An input is written when its call is complete, because it is part of a JSON text. */
export class CustomCallStream {
  readonly #customTools: ReadonlySet<string>;
  /** The arguments so far, by the index of the call. */
  readonly #open = new Map<number, string>();
  readonly #heldText = new HeldText();

  constructor(customTools: readonly string[]) {
    this.#customTools = new Set(customTools);
  }

  /** Returns the chunk to write; null if there is nothing to write yet. */
  rewrite(chunk: ChatCompletionChunk): object | null {
    const choice = chunk.choices[0];
    const calls = choice?.delta.tool_calls;
    if (choice === undefined) return chunk;
    const isLast = choice.finish_reason !== null;
    if (calls === undefined && !(isLast && this.#open.size > 0)) return chunk;
    const deltas = this.#rewriteCalls(calls ?? []);
    if (isLast) deltas.push(...this.#close());
    if (deltas.length === 0 && !isLast && Object.keys(choice.delta).length === 1) return null;
    const delta: JsonObject = { ...choice.delta, tool_calls: deltas };
    if (deltas.length === 0) delete delta["tool_calls"];
    return { ...chunk, choices: [{ ...choice, delta }] };
  }

  #rewriteCalls(calls: CallDeltas): object[] {
    const deltas: object[] = [];
    for (const call of calls) {
      const { index, id, function: called } = call;
      const json = this.#open.get(index);
      if (json !== undefined) {
        this.#heldText.add(called.arguments.length);
        this.#open.set(index, json + called.arguments);
      } else if (called.name !== undefined && this.#customTools.has(called.name)) {
        this.#heldText.add(ITEM_LENGTH + called.arguments.length);
        this.#open.set(index, called.arguments);
        deltas.push({ index, id, type: "custom", custom: { name: called.name, input: "" } });
      } else deltas.push(call);
    }
    return deltas;
  }

  #close(): object[] {
    const deltas = [...this.#open].map(([index, json]) => ({
      index,
      custom: { input: customInputOf(json) },
    }));
    this.#open.clear();
    return deltas;
  }
}
