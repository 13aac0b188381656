// Requests that OpenAI rejects because of the model that they name. Each fact is data with its public
// source, and does not come from the tables of the gateway, which are tested against it. Models that no row
// names accept everything.
import type { Behavior } from "../behavior.ts";
import { type JsonObject, listOf, objectOf, stringOf } from "../loose-json.ts";
import type { ReceivedRequest } from "../recorded-request.ts";
import type { FakeResponse } from "../response.ts";
import { openAiParameterError } from "./openai-errors.ts";

type Api = "chat" | "responses";

interface Model {
  /** Empty if nothing is known of what the model rejects. */
  readonly apis: readonly Api[];
  /**
   * Matches itself, and names that continue with `-`, such as those of dated snapshots. The longest match
   * counts.
   */
  readonly name: string;
  /** Whether chat completions rejects function tools unless `reasoning_effort` is `none`. */
  readonly refusesChatTools?: true;
  readonly efforts: readonly string[];
  /** Efforts that only the Responses API accepts. */
  readonly furtherEfforts?: readonly string[];
  /** Whether the model reasons if the request does not mention it. */
  readonly reasonsByDefault: boolean;
  readonly source: string;
}

const BOTH: readonly Api[] = ["chat", "responses"];
const COMMON = ["low", "medium", "high"];
const WITH_NONE = ["none", ...COMMON];
const UP_TO_EXTRA_HIGH = [...WITH_NONE, "xhigh"];

const LIVE_MATRIX = "https://github.com/pydantic/pydantic-ai/pull/6414 (2026-07-10, probed)";
const MODELS_DEV = "https://models.dev (2026-07-02)";
const LITELLM = "https://github.com/BerriAI/litellm model_prices_and_context_window.json (2026-08-08)";
const GPT_5_4 = "https://github.com/openai/openai-openapi/issues/541 (2026-05-18)";
const GPT_5_5 = "https://github.com/jeffdafoe/llm-memory-api/pull/178 (2026-04-29, probed)";
const GPT_5_6 = "https://github.com/BerriAI/litellm/pull/34569 (2026-07-24, probed)";
const GPT_6 = "https://github.com/bolna-ai/bolna/pull/1019 (2026-09-05, probed)";

const MODELS: readonly Model[] = [
  { name: "o1", apis: BOTH, efforts: COMMON, reasonsByDefault: true, source: LIVE_MATRIX },
  { name: "o1-pro", apis: ["responses"], efforts: COMMON, reasonsByDefault: true, source: LITELLM },
  { name: "o3", apis: BOTH, efforts: COMMON, reasonsByDefault: true, source: LIVE_MATRIX },
  { name: "o3-pro", apis: ["responses"], efforts: COMMON, reasonsByDefault: true, source: LITELLM },
  { name: "o4-mini", apis: BOTH, efforts: COMMON, reasonsByDefault: true, source: LIVE_MATRIX },
  { name: "gpt-5", apis: BOTH, efforts: ["minimal", ...COMMON], reasonsByDefault: true, source: LIVE_MATRIX },
  // Not a reasoning model; what it rejects is not published.
  { name: "gpt-5-chat", apis: [], efforts: [], reasonsByDefault: false, source: LIVE_MATRIX },
  { name: "gpt-5-codex", apis: ["responses"], efforts: COMMON, reasonsByDefault: true, source: LITELLM },
  { name: "gpt-5-pro", apis: ["responses"], efforts: ["high"], reasonsByDefault: true, source: MODELS_DEV },
  { name: "gpt-5.1", apis: BOTH, efforts: WITH_NONE, reasonsByDefault: false, source: LIVE_MATRIX },
  { name: "gpt-5.1-chat", apis: BOTH, efforts: ["medium"], reasonsByDefault: true, source: LIVE_MATRIX },
  { name: "gpt-5.1-codex", apis: ["responses"], efforts: COMMON, reasonsByDefault: true, source: LITELLM },
  { name: "gpt-5.2", apis: BOTH, efforts: UP_TO_EXTRA_HIGH, reasonsByDefault: false, source: LIVE_MATRIX },
  { name: "gpt-5.2-chat", apis: BOTH, efforts: ["medium"], reasonsByDefault: true, source: LIVE_MATRIX },
  {
    name: "gpt-5.2-pro",
    apis: ["responses"],
    efforts: ["medium", "high", "xhigh"],
    reasonsByDefault: true,
    source: `${LITELLM}; ${MODELS_DEV}`,
  },
  { name: "gpt-5.3-chat", apis: BOTH, efforts: ["medium"], reasonsByDefault: true, source: LIVE_MATRIX },
  {
    name: "gpt-5.3-codex",
    apis: ["responses"],
    efforts: UP_TO_EXTRA_HIGH,
    reasonsByDefault: false,
    source: `${LITELLM}; ${LIVE_MATRIX}`,
  },
  {
    name: "gpt-5.4",
    apis: BOTH,
    refusesChatTools: true,
    efforts: UP_TO_EXTRA_HIGH,
    reasonsByDefault: false,
    source: `${GPT_5_4}; ${LIVE_MATRIX}`,
  },
  {
    name: "gpt-5.4-pro",
    apis: ["responses"],
    efforts: ["medium", "high", "xhigh"],
    reasonsByDefault: true,
    source: `${LITELLM}; ${MODELS_DEV}`,
  },
  {
    name: "gpt-5.5-pro",
    apis: ["responses"],
    efforts: ["medium", "high", "xhigh"],
    reasonsByDefault: true,
    source: `${LITELLM}; ${MODELS_DEV}`,
  },
  {
    name: "gpt-5.5",
    apis: BOTH,
    refusesChatTools: true,
    efforts: UP_TO_EXTRA_HIGH,
    reasonsByDefault: true,
    source: `${GPT_5_5}; ${LIVE_MATRIX}`,
  },
  {
    name: "gpt-5.6",
    apis: BOTH,
    refusesChatTools: true,
    efforts: UP_TO_EXTRA_HIGH,
    furtherEfforts: ["max"],
    reasonsByDefault: true,
    source: `${GPT_5_6}; https://github.com/mnfst/modelparams.dev/pull/236 (2026-08-17, probed)`,
  },
  {
    name: "gpt-6",
    apis: BOTH,
    refusesChatTools: true,
    efforts: [...COMMON, "xhigh"],
    furtherEfforts: ["max"],
    reasonsByDefault: true,
    source: `${GPT_6}; https://github.com/BerriAI/litellm-docs/pull/1173 (2026-09-03)`,
  },
];

interface Problem {
  readonly message: string;
  readonly param: string;
  readonly code?: string;
  readonly status?: number;
}

type Rule = (body: JsonObject, model: Model, name: string) => Problem | null;

const unsupported = (param: string, more = ""): Problem => ({
  message: `Unsupported parameter: '${param}' is not supported with this model.${more}`,
  param,
  code: "unsupported_parameter",
});

/**
 * Source: https://github.com/danny-avila/LibreChat/issues/14231 (2026-07-13); also without the field:
 * litellm, as above.
 */
const rejectTools: Rule = (body, model, name) => {
  const hasFunctions = listOf(body["tools"]).some((tool) => objectOf(tool)["type"] === "function");
  if (model.refusesChatTools !== true || !hasFunctions || body["reasoning_effort"] === "none") return null;
  const message = `Function tools with reasoning_effort are not supported for ${name} in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.`;
  return { message, param: "reasoning_effort" };
};

/** Source: https://github.com/devnullvoid/dms-ai-assistant/issues/12 quotes the error (2026-05-22). */
const rejectOldLimit: Rule = (body) =>
  (body["max_tokens"] ?? null) === null
    ? null
    : unsupported("max_tokens", " Use 'max_completion_tokens' instead.");

/**
 * Source: https://github.com/huggingface/smolagents/issues/1671 (2025-08-11), also for gpt-5.2: issue 1893.
 */
const rejectStop: Rule = (body) => ((body["stop"] ?? null) === null ? null : unsupported("stop"));

function isReasoning(effort: unknown, { reasonsByDefault }: Model): boolean {
  return typeof effort === "string" ? effort !== "none" : reasonsByDefault;
}

/**
 * Source: https://github.com/pydantic/pydantic-ai/pull/4015 (2026-01-16): without reasoning, sampling is
 * accepted.
 */
function rejectSampling(
  effort: unknown,
  body: JsonObject,
  model: Model,
  accepts: (value: unknown) => boolean,
) {
  if (!isReasoning(effort, model)) return null;
  const param = ["temperature", "top_p"].find(
    (field) => (body[field] ?? null) !== null && !accepts(body[field]),
  );
  return param === undefined ? null : unsupported(param);
}

function rejectEffort(
  effort: unknown,
  param: string,
  accepted: readonly string[],
  name: string,
): Problem | null {
  if (typeof effort !== "string" || accepted.includes(effort)) return null;
  const values = accepted.map((each) => `'${each}'`).join(", ");
  const message = `Unsupported value: '${effort}' is not supported with the '${name}' model. Supported values are: ${values}.`;
  return { message, param, code: "unsupported_value" };
}

const CHAT_RULES: readonly Rule[] = [
  (_body, { apis }) =>
    apis.includes("chat")
      ? null
      : {
          message: "This model is only supported in v1/responses and not in v1/chat/completions.",
          param: "model",
          status: 404,
        },
  (body, { efforts }, name) => rejectEffort(body["reasoning_effort"], "reasoning_effort", efforts, name),
  rejectTools,
  rejectOldLimit,
  rejectStop,
  (body, model) => rejectSampling(body["reasoning_effort"], body, model, (value) => value === 1),
];

const RESPONSES_RULES: readonly Rule[] = [
  (body, { efforts, furtherEfforts = [] }, name) =>
    rejectEffort(effortOf(body), "reasoning.effort", [...efforts, ...furtherEfforts], name),
  // Source: https://github.com/BerriAI/litellm/pull/39631 quotes the error for the field as such.
  (body, model) => rejectSampling(effortOf(body), body, model, () => false),
];

function effortOf(body: JsonObject): unknown {
  return objectOf(body["reasoning"])["effort"];
}

/**
 * Source: OpenAI's error as quoted by many clients, for example
 * https://github.com/windmill-labs/windmill/pull/10147.
 */
function unverified(body: JsonObject): Problem | null {
  if ((objectOf(body["reasoning"])["summary"] ?? null) === null) return null;
  const message =
    "Your organization must be verified to generate reasoning summaries. Please go to: https://platform.openai.com/settings/organization/general and click on Verify Organization. If you just verified, it can take up to 15 minutes for access to propagate.";
  return { message, param: "reasoning.summary", code: "unsupported_value" };
}

/** Source: the schema of the API has no such field, and `minimum: 16` in errors since 2025. */
function invalidResponsesFields(body: JsonObject): Problem | null {
  if ((body["stop"] ?? null) !== null)
    return { message: "Unknown parameter: 'stop'.", param: "stop", code: "unknown_parameter" };
  const limit = body["max_output_tokens"];
  if (typeof limit !== "number" || limit >= 16) return null;
  const message = `Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got ${limit} instead.`;
  return { message, param: "max_output_tokens", code: "integer_below_min_value" };
}

/** Returns the error for a request that OpenAI would reject; null if it accepts the request. */
export function rejectByModel(
  request: ReceivedRequest,
  body: JsonObject,
  api: Api,
  { unverified: isUnverified }: Behavior,
): FakeResponse | null {
  const name = stringOf(body["model"]);
  const model = modelNamed(name.slice(name.lastIndexOf("/") + 1));
  const rules = api === "chat" ? CHAT_RULES : RESPONSES_RULES;
  let problem = api === "responses" ? invalidResponsesFields(body) : null;
  if (problem === null && isUnverified === true && api === "responses") problem = unverified(body);
  for (const rule of rules) problem ??= model === null ? null : rule(body, model, name);
  return problem === null ? null : openAiParameterError(request, problem.status ?? 400, problem);
}

function modelNamed(name: string): Model | null {
  const matching = MODELS.filter((model) => name === model.name || name.startsWith(`${model.name}-`));
  const [longest] = matching.sort((one, other) => other.name.length - one.name.length);
  return longest === undefined || longest.apis.length === 0 ? null : longest;
}
