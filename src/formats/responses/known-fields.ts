// The fields of the items and tools of a Responses request that translations read, or report as dropped themselves.
import { known, KnownTypes, type KnownFields, type KnownRequest } from "../unknown-fields.ts";

const TEXT = known("type", "text", "prompt_cache_breakpoint");
const CONTENT = new KnownTypes("", {
  input_text: TEXT,
  output_text: TEXT,
  text: TEXT,
  refusal: known("type", "refusal"),
  input_image: known("type", "image_url", "detail", "file_id", "prompt_cache_breakpoint"),
  input_file: known("type", "file_data", "file_url", "filename", "file_id", "prompt_cache_breakpoint"),
  input_audio: { ...known("type", "prompt_cache_breakpoint"), input_audio: known("data", "format") },
});
/** Responses have ids and a status in their items, which clients send back. */
const ITEM = known("type", "id", "status");

const ITEMS = new KnownTypes("message", {
  message: { ...ITEM, ...known("role", "phase"), content: CONTENT },
  function_call: { ...ITEM, ...known("call_id", "name", "namespace", "arguments") },
  custom_tool_call: { ...ITEM, ...known("call_id", "name", "namespace", "input") },
  tool_search_call: { ...ITEM, ...known("call_id", "arguments", "execution") },
  function_call_output: { ...ITEM, call_id: null, output: CONTENT },
  custom_tool_call_output: { ...ITEM, call_id: null, output: CONTENT },
  reasoning: { ...ITEM, ...known("summary", "content", "encrypted_content") },
});

/** Options of tools that are reported as dropped. */
const OPTIONS = known("allowed_callers", "defer_loading", "output_schema");
const FUNCTIONS: Readonly<Record<string, KnownFields>> = {
  function: { ...known("type", "name", "description", "parameters", "strict"), ...OPTIONS },
  custom: { ...known("type", "name", "description", "format"), ...OPTIONS },
};

export const KNOWN_RESPONSES_FIELDS: KnownRequest = {
  input: ITEMS,
  instructions: ITEMS,
  tools: new KnownTypes("", {
    ...FUNCTIONS,
    namespace: {
      ...known("type", "name", "description"),
      ...OPTIONS,
      tools: new KnownTypes("", FUNCTIONS),
    },
    tool_search: { ...known("type", "execution", "description", "parameters"), ...OPTIONS },
  }),
  text: { verbosity: null, format: known("type", "name", "description", "schema", "strict") },
};
