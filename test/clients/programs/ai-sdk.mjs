// The Vercel AI SDK: texts, streams, objects and tools, with its OpenAI provider (chat and responses) and its Anthropic provider.
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { generateObject, generateText, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";

const { GATEHOUSE_URL, GATEHOUSE_KEY, GATEHOUSE_MODEL } = process.env;
const options = { apiKey: GATEHOUSE_KEY, baseURL: `${GATEHOUSE_URL}/v1` };
const openai = createOpenAI(options);
const anthropic = createAnthropic(options);
const models = {
  chat: openai.chat(GATEHOUSE_MODEL),
  responses: openai.responses(GATEHOUSE_MODEL),
  messages: anthropic(GATEHOUSE_MODEL),
};
// The gateway stores no responses of other formats, so the SDK has to send the items of a conversation instead of their ids.
const providerOptions = { openai: { store: false } };
const script = (behavior) => ({ "x-fake": JSON.stringify(behavior) });

const results = {};
for (const [name, model] of Object.entries(models)) {
  const text = await generateText({ model, prompt: "Hi", headers: script({ text: "Good day." }) });
  const stream = streamText({ model, prompt: "Hi", headers: script({ text: "Good day." }) });
  const { object } = await generateObject({
    model,
    prompt: "Which city?",
    schema: z.object({ city: z.string() }),
    headers: script({ text: '{"city":"Paris"}' }),
  });
  const weather = tool({
    description: "The weather of a city",
    inputSchema: z.object({ city: z.string() }),
    execute: ({ city }) => `sunny in ${city}`,
  });
  const turns = [{ calls: [{ name: "weather", arguments: { city: "Paris" } }] }, { text: "It is sunny." }];
  const withTool = await generateText({
    model,
    prompt: "What is the weather?",
    tools: { weather },
    providerOptions,
    stopWhen: stepCountIs(3),
    headers: script({ turns }),
  });
  results[name] = {
    text: text.text,
    stream: await stream.text,
    object,
    tool: withTool.text,
    toolResults: withTool.steps.flatMap((step) => step.toolResults.map(({ output }) => output)),
  };
}
console.log(JSON.stringify(results));
