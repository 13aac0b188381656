// What the hub format has in addition to OpenAI's chat completions. Chat clients send and receive these fields, too: the names
// are those that other providers and routers with this format use.
//
// Requests:
// - `cache_control` of content parts, tools and messages: Anthropic's object.
// - `reasoning_effort`: "none", "minimal", "low", "medium", "high", "xhigh" or "max". `thinking`: Anthropic's object.
// - `reasoning_details` of assistant messages: see below. `top_k`.
// - `is_error: true` of tool messages. Their content may have parts of the types `image_url` and `file`.
// - `file` parts with `file_url` instead of `file_data`, and with texts (`data:text/plain;base64,…`).
// - Custom tools: `{"type": "custom", "custom": {"name", "description"}}`, and calls `{"type": "custom", "custom": {"name", "input"}}`.
// Responses: `reasoning_content` (text) and `reasoning_details` of messages and deltas. In streams a detail is complete: it arrives
// once, after the `reasoning_content` with its text.
// `stop_sequence` of choices: the stop sequence that the gateway found.

/** A custom tool takes a text. Formats without such tools get it as a function with one field. */
export const CUSTOM_TOOL_SCHEMA = {
  type: "object",
  properties: { input: { type: "string" } },
  required: ["input"],
};

/** Reasoning that a client sends back unchanged in the next request, so that the model can continue from it. */
export interface ReasoningDetail {
  readonly type: "reasoning.text" | "reasoning.summary" | "reasoning.encrypted";
  /** The format of the API that created it. No other accepts it. */
  readonly format: "anthropic" | "responses" | "gemini";
  /** The reasoning of `reasoning.text`. */
  readonly text?: string;
  readonly summary?: string;
  /** The reasoning of `reasoning.encrypted`. */
  readonly data?: string;
  /** Proves that the provider wrote the text. */
  readonly signature?: string;
  /** The id of the item, or of the tool call that it belongs to. */
  readonly id?: string;
  /** The target whose key decrypts the data; absent if every target of the format can. */
  readonly target?: string;
}
