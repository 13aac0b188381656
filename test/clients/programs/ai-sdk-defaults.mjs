// The Vercel AI SDK with the default options of its OpenAI provider, which then refers to the items of
// earlier responses: a tool loop, whole and streamed, and the turn of the user that follows it.
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";

const { GATEHOUSE_URL, GATEHOUSE_KEY, GATEHOUSE_MODEL } = process.env;
const requests = [];
const openai = createOpenAI({
  apiKey: GATEHOUSE_KEY,
  baseURL: `${GATEHOUSE_URL}/v1`,
  fetch: (url, init) => {
    requests.push(JSON.parse(init.body));
    return fetch(url, init);
  },
});
const weather = tool({
  description: "The weather of a city",
  inputSchema: z.object({ city: z.string() }),
  execute: ({ city }) => `sunny in ${city}`,
});
const turns = [
  {
    text: "I look.",
    thinking: "I need the weather.",
    calls: [{ name: "weather", arguments: { city: "Paris" } }],
  },
  { text: "It is sunny." },
  { text: "You are welcome." },
];
const options = {
  model: openai(GATEHOUSE_MODEL),
  tools: { weather },
  stopWhen: stepCountIs(3),
  // The model of the gateway may reason, of which the SDK knows nothing.
  providerOptions: { openai: { reasoningEffort: "low", forceReasoning: true } },
  headers: { "x-fake": JSON.stringify({ turns }) },
};
const question = { role: "user", content: "What is the weather?" };

async function converse(run) {
  const first = await run([question]);
  const messages = [question, ...first.messages, { role: "user", content: "Thanks." }];
  const second = await run(messages);
  return [first.text, second.text];
}

const whole = await converse(async (messages) => {
  const { text, response, responseMessages } = await generateText({ ...options, messages });
  // Since version 7, those of all steps have a name of their own.
  return { text, messages: responseMessages ?? response.messages };
});
const streamed = await converse(async (messages) => {
  const result = streamText({ ...options, messages, onError: ({ error }) => console.error(error) });
  const text = await result.text;
  return { text, messages: (await result.responseMessages) ?? (await result.response).messages };
});
const references = requests.flatMap(({ input }) => input.filter(({ type }) => type === "item_reference"));
console.log(JSON.stringify({ whole, streamed, refers: references.length > 0 }));
