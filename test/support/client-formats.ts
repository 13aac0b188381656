// The formats that clients use: a request in each, the text in its responses and streams, and how its streams end.

const OUTBOUND = ["openai", "anthropic", "responses", "gemini"] as const;
export type Outbound = (typeof OUTBOUND)[number];

export const MESSAGES = [{ role: "user", content: "hello there" }];
export const INBOUND = {
  openai: { path: "/v1/chat/completions", body: { messages: MESSAGES } },
  anthropic: { path: "/v1/messages", body: { messages: MESSAGES, max_tokens: 50 } },
  responses: { path: "/v1/responses", body: { input: "hello there", store: false } },
} as const;
export type Inbound = keyof typeof INBOUND;

/** Each format of a client with each format of a target. */
export const PAIRS = (Object.keys(INBOUND) as Inbound[]).flatMap((inbound) =>
  OUTBOUND.map((outbound) => [inbound, outbound] as const),
);

/** The text in a response or stream of a client's format, without what differs from one response to the next. */
export function textOf(inbound: Inbound, body: string): string {
  const events = body.startsWith("{")
    ? [JSON.parse(body) as unknown]
    : [...body.matchAll(/^data: (\{[^\n]*)$/gm)].map(([, data = ""]) => JSON.parse(data) as unknown);
  return events.map((event) => textIn(inbound, event as Fields)).join("");
}

interface Fields {
  readonly [name: string]: unknown;
  readonly type?: string;
  readonly choices?: { readonly delta?: { content?: string }; readonly message?: { content?: string } }[];
  readonly delta?: { readonly text?: string } & string;
  readonly content?: { readonly text?: string }[];
  readonly output?: { readonly content?: { readonly text?: string }[] }[];
}

function textIn(inbound: Inbound, { choices, delta, content, output, type }: Fields): string {
  if (inbound === "openai") return choices?.[0]?.delta?.content ?? choices?.[0]?.message?.content ?? "";
  if (inbound === "anthropic") return delta?.text ?? content?.map(({ text = "" }) => text).join("") ?? "";
  if (type === "response.output_text.delta") return delta ?? "";
  return output?.flatMap((item) => item.content?.map(({ text = "" }) => text) ?? []).join("") ?? "";
}

/** What is in every complete stream of a format. */
export const ENDS: Record<Inbound, string> = {
  openai: "data: [DONE]",
  anthropic: "event: message_stop",
  responses: "event: response.completed",
};
