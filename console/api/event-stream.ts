// Parses server-sent events from a fetch body. `EventSource` cannot be used because it cannot send the token.

export interface StreamEvent {
  readonly event: string;
  readonly data: string;
}

/** Yields each event with data. Cancels the body when the caller stops reading. */
export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<StreamEvent> {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let text = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      text += value === undefined ? decoder.decode() : decoder.decode(value, { stream: true });
      const blocks = text.split(/\r?\n\r?\n|\r\r/);
      text = blocks.pop() ?? "";
      for (const block of blocks) {
        const event = parseEvent(block);
        if (event !== null) yield event;
      }
      if (done) return;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

function parseEvent(block: string): StreamEvent | null {
  let event = "message";
  const data: string[] = [];
  for (const line of block.split(/\r?\n|\r/)) {
    const [, field, value = ""] = /^([^:]*)(?:: ?(.*))?$/.exec(line) ?? [];
    if (field === "event") event = value;
    else if (field === "data") data.push(value);
  }
  return data.length === 0 ? null : { event, data: data.join("\n") };
}
