// The reasoning item of a Responses stream that is being written.
import type { ReasoningDetail } from "../chat-extensions.ts";
import { reasoningItem } from "./encode-response.ts";
import type { EventWriter } from "./event-writer.ts";
import type { ResponseIds } from "./response-object.ts";
import type { OutputItem } from "./wire-types.ts";

export class OpenReasoning {
  readonly #writer: EventWriter;
  readonly #output: OutputItem[];
  readonly #id: string;
  readonly #outputIndex: number;
  #text = "";

  /** Adds the item to `output`. */
  constructor(writer: EventWriter, output: OutputItem[], ids: ResponseIds) {
    this.#writer = writer;
    this.#output = output;
    this.#outputIndex = output.length;
    this.#id = ids.item("rs", this.#outputIndex);
    const item = reasoningItem(this.#id, "", null);
    writer.write("response.output_item.added", { output_index: this.#outputIndex, item });
    output.push(item);
  }

  write(delta: string): void {
    if (this.#text === "") {
      this.#write("response.reasoning_summary_part.added", { part: { type: "summary_text", text: "" } });
    }
    this.#text += delta;
    this.#write("response.reasoning_summary_text.delta", { delta });
  }

  close(detail: ReasoningDetail | null): void {
    const text = this.#text;
    if (text !== "") {
      this.#write("response.reasoning_summary_text.done", { text });
      this.#write("response.reasoning_summary_part.done", { part: { type: "summary_text", text } });
    }
    const item = reasoningItem(this.#id, text, detail);
    this.#output[this.#outputIndex] = item;
    this.#writer.write("response.output_item.done", { output_index: this.#outputIndex, item });
  }

  #write(type: string, fields: object): void {
    const position = { item_id: this.#id, output_index: this.#outputIndex, summary_index: 0 };
    this.#writer.write(type, { ...position, ...fields });
  }
}
