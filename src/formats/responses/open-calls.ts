// The calls of a Responses stream that are being written.
import type { ChatDelta } from "../openai/wire-types.ts";
import type { ResponseContext } from "../translator.ts";
import type { EventWriter } from "./event-writer.ts";
import { completeCall, createCall, type ResponseIds } from "./response-object.ts";
import type { CallItem, OutputItem } from "./wire-types.ts";

type CallDelta = NonNullable<ChatDelta["tool_calls"]>[number];

interface OpenCall {
  readonly item: CallItem;
  readonly outputIndex: number;
  json: string;
}

export class OpenCalls {
  readonly #writer: EventWriter;
  readonly #output: OutputItem[];
  readonly #ids: ResponseIds;
  readonly #clientTools: ResponseContext["clientTools"];
  /** By the index among the calls of the chat stream. */
  readonly #calls = new Map<number, OpenCall>();

  /** Adds the items to `output`. */
  constructor(writer: EventWriter, output: OutputItem[], ids: ResponseIds, { clientTools }: ResponseContext) {
    this.#writer = writer;
    this.#output = output;
    this.#ids = ids;
    this.#clientTools = clientTools;
  }

  encode({ index, id, function: called }: CallDelta): void {
    const call = this.#calls.get(index) ?? this.#open(index, id ?? "", called.name ?? "");
    const delta = called.arguments;
    if (delta === "") return;
    call.json += delta;
    // The input of custom tools is part of a JSON text, which is complete only at the end.
    if (call.item.type === "function_call") this.#writeArguments(call, delta);
  }

  close(status: "completed" | "incomplete"): void {
    for (const call of this.#calls.values()) {
      const { item, json, outputIndex } = call;
      completeCall(item, json);
      item.status = status;
      if (item.type === "function_call") {
        if (json === "") this.#writeArguments(call, item.arguments);
        const { name, arguments: whole } = item;
        this.#write("response.function_call_arguments.done", call, { name, arguments: whole });
      } else if (item.type === "custom_tool_call") {
        if (item.input !== "")
          this.#write("response.custom_tool_call_input.delta", call, { delta: item.input });
        this.#write("response.custom_tool_call_input.done", call, { input: item.input });
      }
      this.#writer.write("response.output_item.done", { output_index: outputIndex, item });
    }
    this.#calls.clear();
  }

  #open(index: number, id: string, name: string): OpenCall {
    const tool = this.#clientTools?.get(name) ?? { type: "function", name, namespace: null };
    const outputIndex = this.#output.length;
    const item = createCall(tool, id, this.#ids, outputIndex);
    const call: OpenCall = { item, outputIndex, json: "" };
    this.#calls.set(index, call);
    this.#writer.write("response.output_item.added", { output_index: outputIndex, item });
    this.#output.push(item);
    return call;
  }

  #writeArguments(call: OpenCall, delta: string): void {
    this.#write("response.function_call_arguments.delta", call, { delta });
  }

  #write(type: string, { item, outputIndex }: OpenCall, fields: object): void {
    this.#writer.write(type, { item_id: item.id, output_index: outputIndex, ...fields });
  }
}
