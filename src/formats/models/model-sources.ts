// Where the facts in the tables of models come from, and when they were read. A fact without a public
// measurement says so.

export const MODEL_SOURCES = {
  "models.dev": { url: "https://models.dev", date: "2026-07-02" },
  litellm: {
    url: "https://github.com/BerriAI/litellm/blob/main/model_prices_and_context_window.json",
    date: "2026-08-08",
  },
  "pydantic-ai#6414": { url: "https://github.com/pydantic/pydantic-ai/pull/6414", date: "2026-07-10" },
  "pydantic-ai#4015": { url: "https://github.com/pydantic/pydantic-ai/pull/4015", date: "2026-01-16" },
  "openai-openapi#541": { url: "https://github.com/openai/openai-openapi/issues/541", date: "2026-05-18" },
  "pipecat#4043": { url: "https://github.com/pipecat-ai/pipecat/issues/4043", date: "2026-03-16" },
  "llm-memory-api#178": { url: "https://github.com/jeffdafoe/llm-memory-api/pull/178", date: "2026-04-29" },
  "litellm#34569": { url: "https://github.com/BerriAI/litellm/pull/34569", date: "2026-07-24" },
  "LibreChat#14231": { url: "https://github.com/danny-avila/LibreChat/issues/14231", date: "2026-07-13" },
  "modelparams#236": { url: "https://github.com/mnfst/modelparams.dev/pull/236", date: "2026-08-17" },
  "experiential#764": {
    url: "https://github.com/experientiallabs/experiential/issues/764",
    date: "2026-09-03",
  },
  "bolna#1019": { url: "https://github.com/bolna-ai/bolna/pull/1019", date: "2026-09-05" },
  "litellm-docs#1173": { url: "https://github.com/BerriAI/litellm-docs/pull/1173", date: "2026-09-03" },
  "onyx#15008": { url: "https://github.com/onyx-dot-app/onyx/issues/15008", date: "2026-09-23" },
  "docker-agent#2166": { url: "https://github.com/docker/docker-agent/issues/2166", date: "2026-03-19" },
  "smolagents#1671": { url: "https://github.com/huggingface/smolagents/issues/1671", date: "2025-08-11" },
  "smolagents#1893": { url: "https://github.com/huggingface/smolagents/issues/1893", date: "2025-12-12" },
  "google-openai": { url: "https://ai.google.dev/gemini-api/docs/openai#thinking", date: "2026-07-02" },
} as const;

export type ModelSource = keyof typeof MODEL_SOURCES;
