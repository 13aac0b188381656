// The fields of the messages and tools of a chat request that translations read, or report as dropped themselves.
import { known, type KnownFields, type KnownRequest } from "../unknown-fields.ts";

const CONTENT: KnownFields = {
  ...known("type", "text", "refusal", "cache_control"),
  image_url: known("url", "detail"),
  file: known("file_data", "file_id", "file_url", "filename"),
  input_audio: known("data", "format"),
};

export const KNOWN_CHAT_FIELDS: KnownRequest = {
  messages: {
    ...known("role", "name", "refusal", "tool_call_id", "is_error", "cache_control"),
    ...known("reasoning_content", "reasoning_details"),
    content: CONTENT,
    tool_calls: {
      // Clients that send back what they merged from a stream send `index`.
      ...known("id", "type", "index"),
      function: known("name", "arguments"),
      custom: known("name", "input"),
    },
  },
  tools: {
    ...known("type", "cache_control"),
    function: known("name", "description", "parameters", "strict"),
    custom: known("name", "description", "format"),
  },
  response_format: {
    type: null,
    json_schema: known("name", "description", "schema", "strict"),
  },
};
