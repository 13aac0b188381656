// Renders the request of the playground as code for SDKs and curl, and the settings of coding agents.
import type { ChatCall } from "./chat.ts";

/** Where applications send requests, and what. */
export interface SnippetSource {
  /** Address of the proxy, such as `http://127.0.0.1:8081`. */
  readonly address: string;
  /** Path of the rule, such as `/v1/*`. */
  readonly rulePath: string;
  /** Model that coding agents use. */
  readonly model: string;
  readonly call: ChatCall;
}

type Render = (source: SnippetSource) => string;

export const SNIPPETS: Readonly<Record<string, Render>> = {
  curl,
  "OpenAI SDK, Python": openaiPython,
  "OpenAI SDK, TypeScript": openaiTypescript,
  "Anthropic SDK, Python": anthropicPython,
  "Anthropic SDK, TypeScript": anthropicTypescript,
  "Claude Code": claudeCode,
  Codex: codex,
};

const KEY = "GATEHOUSE_KEY";
const CHAT = "/chat/completions";
const DEFAULT_MAX_TOKENS = 1024;

type Json = Readonly<Record<string, unknown>>;

function curl({ address, call: { method, path, headers, body } }: SnippetSource): string {
  const lines = Object.entries(headers).map(([name, value]) =>
    name === "X-GW-API-Key" ? `  -H "${name}: $${KEY}" \\` : `  -H ${shellQuote(`${name}: ${value}`)} \\`,
  );
  return [
    `curl -sSN -X ${method} ${shellQuote(address + path)} \\`,
    ...lines,
    `  -d ${shellQuote(JSON.stringify(body))}`,
  ].join("\n");
}

/** Quotes for a POSIX shell. Within single quotes only the quote itself is special. */
function shellQuote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** Base URL of OpenAI's SDKs, which add `/chat/completions`; null if the rule has another path. */
function openaiBase({ address, call: { path } }: SnippetSource): string | null {
  return path.endsWith(CHAT) ? address + path.slice(0, -CHAT.length) : null;
}

/** Base URL of Anthropic's SDKs, which add `/v1/messages`; null if the rule does not serve it. */
function anthropicBase({ address, rulePath }: SnippetSource): string | null {
  if (rulePath === "/*") return address;
  return rulePath.endsWith("/v1/*") ? address + rulePath.slice(0, -"/v1/*".length) : null;
}

function unsuited({ rulePath }: SnippetSource, comment: string, path: string): string {
  return `${comment} This client sends requests to ${path}. The rule ${rulePath} does not serve it.\n${comment} Select or create a rule with the path /v1/*.`;
}

/** The body without what SDKs set themselves. SDKs require a model. */
function openaiBody({ model, call: { body } }: SnippetSource): Json {
  const sent = Object.entries(body).filter(([name]) => name !== "stream_options");
  return { model, ...Object.fromEntries(sent) };
}

function ownHeaders({ call: { headers } }: SnippetSource): Json | null {
  const own = Object.entries(headers).filter(([name]) => !/^(content-type|x-gw-api-key)$/i.test(name));
  return own.length === 0 ? null : Object.fromEntries(own);
}

function openaiPython(source: SnippetSource): string {
  const base = openaiBase(source);
  if (base === null) return unsuited(source, "#", CHAT);
  const body = openaiBody(source);
  const read =
    body["stream"] === true
      ? `for chunk in response:
    if chunk.choices and chunk.choices[0].delta.content:
        print(chunk.choices[0].delta.content, end="", flush=True)`
      : "print(response.choices[0].message.content)";
  return `import os
from openai import OpenAI

client = OpenAI(${pythonClient(source, base)})
response = client.chat.completions.create(${pythonArguments(body)})
${read}
`;
}

function anthropicPython(source: SnippetSource): string {
  const base = anthropicBase(source);
  if (base === null) return unsuited(source, "#", "/v1/messages");
  const { stream, ...body } = anthropicBody(source);
  const create =
    stream === true
      ? `with client.messages.stream(${pythonArguments(body)}) as stream:
    for text in stream.text_stream:
        print(text, end="", flush=True)`
      : `message = client.messages.create(${pythonArguments(body)})
print(message.content[0].text)`;
  return `import os
from anthropic import Anthropic

client = Anthropic(${pythonClient(source, base)})
${create}
`;
}

function pythonClient(source: SnippetSource, base: string): string {
  const headers = ownHeaders(source);
  const more = headers === null ? "" : `, default_headers=${toPython(headers)}`;
  return `base_url=${JSON.stringify(base)}, api_key=os.environ["${KEY}"]${more}`;
}

function pythonArguments(body: Json): string {
  const lines = Object.entries(body).map(([name, value]) => `    ${name}=${toPython(value, "    ")},`);
  return `\n${lines.join("\n")}\n`;
}

/** Returns a JSON value as a Python literal. */
function toPython(value: unknown, indent = ""): string {
  if (value === null) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (typeof value !== "object") return JSON.stringify(value);
  const inner = `${indent}    `;
  const parts = Array.isArray(value)
    ? value.map((each) => toPython(each, inner))
    : Object.entries(value).map(([name, each]) => `${JSON.stringify(name)}: ${toPython(each, inner)}`);
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  if (parts.length === 0) return open + close;
  return `${open}\n${parts.map((part) => `${inner}${part},`).join("\n")}\n${indent}${close}`;
}

function openaiTypescript(source: SnippetSource): string {
  const base = openaiBase(source);
  if (base === null) return unsuited(source, "//", CHAT);
  const body = openaiBody(source);
  const read =
    body["stream"] === true
      ? `for await (const chunk of response) {
  process.stdout.write(chunk.choices[0]?.delta.content ?? "");
}`
      : "console.log(response.choices[0]?.message.content);";
  return `import OpenAI from "openai";

const client = new OpenAI(${typescriptClient(source, base)});
const response = await client.chat.completions.create(${JSON.stringify(body, null, 2)});
${read}
`;
}

function anthropicTypescript(source: SnippetSource): string {
  const base = anthropicBase(source);
  if (base === null) return unsuited(source, "//", "/v1/messages");
  const { stream, ...body } = anthropicBody(source);
  const sent = JSON.stringify(body, null, 2);
  const create =
    stream === true
      ? `const stream = client.messages.stream(${sent});
stream.on("text", (text) => process.stdout.write(text));
await stream.finalMessage();`
      : `const message = await client.messages.create(${sent});
console.log(message.content);`;
  return `import Anthropic from "@anthropic-ai/sdk";

const client = new Anthropic(${typescriptClient(source, base)});
${create}
`;
}

function typescriptClient(source: SnippetSource, base: string): string {
  const headers = ownHeaders(source);
  const more = headers === null ? "" : `, defaultHeaders: ${JSON.stringify(headers)}`;
  return `{ baseURL: ${JSON.stringify(base)}, apiKey: process.env.${KEY}${more} }`;
}

/** Translates the body into Anthropic's format, as far as the playground uses it. */
function anthropicBody({ model, call: { body } }: SnippetSource): Json {
  const { messages, tools, max_tokens, temperature, top_p, stop, stream } = body;
  const list = (Array.isArray(messages) ? messages : []) as readonly Json[];
  const system = list.find(({ role }) => role === "system")?.["content"];
  return {
    model: typeof body["model"] === "string" ? body["model"] : model,
    max_tokens: max_tokens ?? DEFAULT_MAX_TOKENS,
    ...(system !== undefined && { system }),
    messages: list.filter(({ role }) => role !== "system").map(anthropicMessage),
    ...(Array.isArray(tools) && { tools: (tools as readonly Json[]).map(anthropicTool) }),
    ...(temperature !== undefined && { temperature }),
    ...(top_p !== undefined && { top_p }),
    ...(stop !== undefined && { stop_sequences: stop }),
    ...(stream === true && { stream }),
  };
}

function anthropicMessage({ role, content, tool_calls, tool_call_id }: Json): Json {
  if (role === "tool")
    return { role: "user", content: [{ type: "tool_result", tool_use_id: tool_call_id, content }] };
  if (!Array.isArray(tool_calls)) return { role, content };
  const calls = (tool_calls as readonly { id: string; function: { name: string; arguments: string } }[]).map(
    ({ id, function: { name, arguments: given } }) => ({ type: "tool_use", id, name, input: parse(given) }),
  );
  return { role, content: [...(content === null ? [] : [{ type: "text", text: content }]), ...calls] };
}

function anthropicTool({ function: declared }: Json): Json {
  const { name, description, parameters } = declared as Json;
  return { name, description, input_schema: parameters ?? { type: "object" } };
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json) as unknown;
  } catch {
    return {};
  }
}

function claudeCode(source: SnippetSource): string {
  const base = anthropicBase(source);
  if (base === null) return unsuited(source, "//", "/v1/messages");
  const env = {
    ANTHROPIC_BASE_URL: base,
    ANTHROPIC_AUTH_TOKEN: "<API_KEY>",
    ANTHROPIC_MODEL: source.model,
    ANTHROPIC_DEFAULT_HAIKU_MODEL: source.model,
  };
  return `// ~/.claude/settings.json\n${JSON.stringify({ env }, null, 2)}\n`;
}

function codex(source: SnippetSource): string {
  const base = openaiBase(source);
  if (base === null || !source.rulePath.endsWith("/*")) return unsuited(source, "#", "/responses");
  return `# ~/.codex/config.toml; set the environment variable ${KEY} to the API key
model = ${JSON.stringify(source.model)}
model_provider = "gatehouse"

[model_providers.gatehouse]
name = "Gatehouse"
base_url = ${JSON.stringify(base)}
env_key = "${KEY}"
wire_api = "responses"
`;
}
