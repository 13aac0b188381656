// The fields of the blocks and tools of a messages request that translations read, or report as dropped themselves.
import { known, KnownTypes, type KnownFields, type KnownRequest } from "../unknown-fields.ts";

const TEXT = known("type", "text", "citations", "cache_control");
const IMAGE: KnownFields = {
  ...known("type", "cache_control"),
  source: known("type", "media_type", "data", "url", "file_id"),
};
/** The blocks inside of documents and search results. */
const INNER = new KnownTypes("", { text: TEXT, image: IMAGE });
const CONTENT = {
  text: TEXT,
  image: IMAGE,
  document: {
    ...known("type", "title", "context", "citations", "cache_control"),
    source: { ...known("type", "media_type", "data", "url", "file_id"), content: INNER },
  },
  search_result: {
    ...known("type", "source", "title", "citations", "cache_control"),
    content: INNER,
  },
  tool_reference: known("type", "tool_name", "cache_control"),
} satisfies Record<string, KnownFields>;

const BLOCKS = new KnownTypes("", {
  ...CONTENT,
  tool_result: {
    ...known("type", "tool_use_id", "is_error", "cache_control"),
    content: new KnownTypes("", CONTENT),
  },
  // `caller` names what called a tool: the model, or a server tool, which is rejected.
  tool_use: known("type", "id", "name", "input", "caller", "cache_control"),
  thinking: known("type", "thinking", "signature"),
  redacted_thinking: known("type", "data"),
  compaction: known("type", "content", "cache_control"),
});

export const KNOWN_MESSAGE_FIELDS: KnownRequest = {
  messages: { role: null, content: BLOCKS },
  system: BLOCKS,
  tools: new KnownTypes("custom", {
    custom: {
      ...known("type", "name", "description", "input_schema", "strict", "cache_control"),
      ...known("input_examples", "defer_loading", "allowed_callers"),
      // Arguments are streamed to the client in any case.
      eager_input_streaming: null,
    },
  }),
  tool_choice: known("type", "name", "disable_parallel_tool_use"),
  // Reasoning is returned to the client in any case.
  thinking: known("type", "budget_tokens", "display"),
};
