// The chat completion request of the benchmarks, about 1 kB of ordinary prose, and its response.

export const CHAT_PATH = "/v1/chat/completions";

const PROSE =
  "Our team looks after a small museum by the harbour. Visitors ask most often when the lighthouse opens, whether " +
  "the ferry runs on Sundays, and which of the paintings were made in the town itself. We would like a friendly " +
  "answer of about three sentences that names the opening hours, mentions the winter break in January and February, " +
  "and points to the desk in the hall for everything else. Please keep the tone warm and plain, avoid exclamation " +
  "marks, and do not promise anything about the weather. If a visitor travels with children, add that there is a " +
  "room to draw in on the first floor, next to the library. Prices have not changed since last spring, and members " +
  "of the harbour society still walk in for free. The shop sells maps, postcards and a short history of the pier. " +
  "Letters in other languages may be answered in the language they were written in, as long as it is one of ours.";

/** Returns a body of about this many bytes; the prose is repeated to reach it. */
export function chatBody(bytes = 1024): string {
  const messages = [
    { role: "system", content: "You answer the letters of a museum." },
    { role: "user", content: PROSE },
  ];
  const body = () => JSON.stringify({ model: "gpt-4o-mini", messages, max_tokens: 256, temperature: 0.7 });
  while (body().length + PROSE.length < bytes) messages.push({ role: "user", content: PROSE });
  return body();
}

export const CHAT_RESPONSE = JSON.stringify({
  id: "chatcmpl-0123456789",
  object: "chat.completion",
  created: 1_760_000_000,
  model: "gpt-4o-mini",
  choices: [
    {
      index: 0,
      message: {
        role: "assistant",
        content:
          "The lighthouse is open from ten to five every day and rests in January and February. The desk in the hall " +
          "knows about everything else. There is a room to draw in on the first floor.",
      },
      finish_reason: "stop",
    },
  ],
  usage: { prompt_tokens: 180, completion_tokens: 44, total_tokens: 224 },
});
