// The message item of a Responses stream that is being written.
import type { EventWriter } from "./event-writer.ts";
import type { ResponseIds } from "./response-object.ts";
import type { MessageItem, OutputItem, OutputTextPart, RefusalPart } from "./wire-types.ts";

export class OpenMessage {
  readonly #writer: EventWriter;
  readonly #item: MessageItem;
  readonly #outputIndex: number;
  #part: OutputTextPart | RefusalPart | null = null;

  /** Adds the item to `output`. */
  constructor(writer: EventWriter, output: OutputItem[], ids: ResponseIds) {
    this.#writer = writer;
    this.#outputIndex = output.length;
    const id = ids.item("msg", this.#outputIndex);
    this.#item = { id, type: "message", status: "in_progress", role: "assistant", content: [] };
    writer.write("response.output_item.added", { output_index: this.#outputIndex, item: this.#item });
    output.push(this.#item);
  }

  writeText(delta: string): void {
    if (this.#part?.type !== "output_text") {
      this.#openPart({ type: "output_text", text: "", annotations: [], logprobs: [] });
    }
    if (this.#part?.type === "output_text") this.#part.text += delta;
    this.#writer.write("response.output_text.delta", { ...this.#position(), delta, logprobs: [] });
  }

  writeRefusal(delta: string): void {
    if (this.#part?.type !== "refusal") this.#openPart({ type: "refusal", refusal: "" });
    if (this.#part?.type === "refusal") this.#part.refusal += delta;
    this.#writer.write("response.refusal.delta", { ...this.#position(), delta });
  }

  close(status: "completed" | "incomplete"): void {
    this.#closePart();
    this.#item.status = status;
    this.#writer.write("response.output_item.done", { output_index: this.#outputIndex, item: this.#item });
  }

  #openPart(part: OutputTextPart | RefusalPart): void {
    this.#closePart();
    this.#part = part;
    this.#item.content.push(part);
    this.#writer.write("response.content_part.added", { ...this.#position(), part });
  }

  #closePart(): void {
    const part = this.#part;
    if (part === null) return;
    const position = this.#position();
    if (part.type === "output_text") {
      this.#writer.write("response.output_text.done", { ...position, text: part.text, logprobs: [] });
    } else this.#writer.write("response.refusal.done", { ...position, refusal: part.refusal });
    this.#writer.write("response.content_part.done", { ...position, part });
    this.#part = null;
  }

  #position() {
    return {
      item_id: this.#item.id,
      output_index: this.#outputIndex,
      content_index: this.#item.content.length - 1,
    };
  }
}
