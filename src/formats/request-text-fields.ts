// Names of the fields of requests, in lower case, by what their strings are.

/** `other`: texts outside of the conversation, such as tool definitions. */
export type TextRole = "system" | "developer" | "user" | "assistant" | "tool" | "other";

export const SYSTEM_FIELDS = new Set(["system", "instructions", "systeminstruction", "system_instruction"]);
/** Top-level fields that hold texts, but no conversation. */
export const OTHER_FIELDS = new Set([
  "tools",
  "functions",
  "response_format",
  "metadata",
  "user",
  "safety_identifier",
  "mcp_servers",
  "text",
  "labels",
  "stop",
  "stop_sequences",
  "prompt_cache_key",
]);
/** Top-level fields whose strings are ids, names and levels. One that cannot be any of these is a text. */
export const SETTINGS = new Set([
  "model",
  "models",
  "fallbacks",
  "tool_choice",
  "function_call",
  "toolconfig",
  "tool_config",
  "service_tier",
  "prompt_cache_retention",
  "previous_response_id",
  "conversation",
  "include",
  "modalities",
  "encoding_format",
  "reasoning",
  "reasoning_effort",
  "thinking",
  "output_config",
  "generationconfig",
  "generation_config",
  "safetysettings",
  "safety_settings",
  "cachedcontent",
  "truncation",
  "stream_options",
  "anthropic_version",
  "anthropic_beta",
  "betas",
  "container",
  "verbosity",
]);
/** Fields of forms that are settings, in addition to those of JSON. */
export const FORM_SETTINGS = new Set([
  "response_format",
  "timestamp_granularities",
  "language",
  "size",
  "quality",
  "background",
  "output_format",
  "input_fidelity",
  "moderation",
  "purpose",
  "style",
  "seconds",
]);
/** Keys within messages and definitions whose strings identify something. A string that cannot be an identifier is a text. */
export const IDENTIFIER_KEYS = new Set([
  "type",
  "role",
  "id",
  "call_id",
  "tool_call_id",
  "tool_use_id",
  "name",
  "file_id",
  "media_type",
  "mime_type",
  "mimetype",
  "detail",
  "status",
  "format",
  "jsonrpc",
  "method",
  "outcome",
  "tooltype",
  "tool_type",
]);
export const URL_KEYS = new Set([
  "image_url",
  "audio_url",
  "video_url",
  "document_url",
  "url",
  "uri",
  "fileuri",
  "file_uri",
  "file_url",
]);
/** Some APIs have images and recordings as data URLs here. Other strings are texts. */
export const FILE_KEYS = new Set(["image", "images", "mask", "audio", "video"]);
/** Files in base64. */
export const DATA_KEYS = new Set(["data", "file_data", "filedata", "b64_json", "blob"]);
/** What only the provider can read: signatures, and encrypted reasoning. */
export const SEALED_KEYS = new Set([
  "signature",
  "thoughtsignature",
  "thought_signature",
  "encrypted_content",
]);
/** Values and schemas of tools and of the output. Keys within have no meaning for the API. */
export const FREE_KEYS = new Set([
  "parameters",
  "parametersjsonschema",
  "parameters_json_schema",
  "input_schema",
  "inputschema",
  "input_examples",
  "output_schema",
  "outputschema",
  "schema",
  "responseschema",
  "response_schema",
  "responsejsonschema",
  "response_json_schema",
  "properties",
  "metadata",
  "labels",
  "stopsequences",
  "stop_sequences",
]);
/** Keys as requests have them, whose names need no inspection. */
export const KNOWN_KEYS: ReadonlySet<string> = new Set([
  ...SYSTEM_FIELDS,
  ...OTHER_FIELDS,
  ...SETTINGS,
  ...IDENTIFIER_KEYS,
  ...URL_KEYS,
  ...DATA_KEYS,
  ...SEALED_KEYS,
  ...FREE_KEYS,
  ..."messages content text input_text output_text function tool_calls arguments input contents parts stream".split(
    " ",
  ),
  ..."prompt description required items enum title additionalProperties default strict cache_control".split(
    " ",
  ),
]);
/** Ids, names and levels. Not an address of electronic mail, nor anything with spaces. */
export const IDENTIFIER = /^[\w.:/+=|~-]{0,512}$/;
export const URL_START = /^[a-z][a-z0-9+.-]*:\S*$/i;
export const ROLES: ReadonlyMap<string, TextRole> = new Map([
  ["system", "system"],
  ["developer", "developer"],
  ["user", "user"],
  ["assistant", "assistant"],
  ["model", "assistant"],
  ["tool", "tool"],
  ["function", "tool"],
]);
