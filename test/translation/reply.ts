// What all formats say about a reply of a model, so that replies can be compared after translations.
import type { JsonObject } from "../../src/base/json.ts";
import type {
  ChatCompletion,
  ChatCompletionChunk,
  ChatErrorBody,
  ChatUsage,
} from "../../src/formats/openai/wire-types.ts";
import type { ChatStreamSink } from "../../src/formats/translator.ts";

interface SharedCall {
  id: string;
  name: string;
  arguments: unknown;
}

export interface SharedReply {
  content: string;
  refusal: string;
  reasoning: string;
  calls: SharedCall[];
  finishReason: string | null;
  usage: JsonObject | null;
}

export function replyOf({ choices, usage }: ChatCompletion): SharedReply {
  const { message, finish_reason } = choices[0];
  return {
    content: message.content ?? "",
    refusal: message.refusal ?? "",
    reasoning: message.reasoning_content ?? "",
    calls: (message.tool_calls ?? []).map(({ id, function: { name, arguments: json } }) => ({
      id,
      name,
      arguments: JSON.parse(json),
    })),
    finishReason: finish_reason,
    usage: usageOf(usage),
  };
}

/** Joins the chunks of a stream. */
export class ReplyCollector implements ChatStreamSink {
  readonly #calls: { id: string; name: string; json: string }[] = [];
  readonly #reply = { content: "", refusal: "", reasoning: "" };
  #finishReason: string | null = null;
  #usage: JsonObject | null = null;
  #isDone = false;

  get isDone(): boolean {
    return this.#isDone;
  }

  get reply(): SharedReply {
    const calls = this.#calls.map(({ id, name, json }) => ({ id, name, arguments: JSON.parse(json) }));
    return { ...this.#reply, calls, finishReason: this.#finishReason, usage: this.#usage };
  }

  chunk({ choices, usage }: ChatCompletionChunk): void {
    if (usage !== undefined && usage !== null) this.#usage = usageOf(usage);
    for (const { delta, finish_reason } of choices) {
      this.#reply.content += delta.content ?? "";
      this.#reply.refusal += delta.refusal ?? "";
      this.#reply.reasoning += delta.reasoning_content ?? "";
      for (const { index, id, function: called } of delta.tool_calls ?? []) {
        const call = (this.#calls[index] ??= { id: id ?? "", name: called.name ?? "", json: "" });
        call.json += called.arguments;
      }
      this.#finishReason = finish_reason ?? this.#finishReason;
    }
  }

  error(body: ChatErrorBody): void {
    throw new Error(body.error.message);
  }

  done(): void {
    this.#isDone = true;
  }
}

function usageOf(usage: ChatUsage): JsonObject {
  return {
    input: usage.prompt_tokens,
    output: usage.completion_tokens,
    cached: usage.prompt_tokens_details.cached_tokens,
    reasoning: usage.completion_tokens_details?.reasoning_tokens ?? 0,
  };
}
