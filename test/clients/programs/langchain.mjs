// LangChain: texts, streams and tools, with its OpenAI and its Anthropic integration.
import { ChatAnthropic } from "@langchain/anthropic";
import { ChatOpenAI } from "@langchain/openai";

const { GATEHOUSE_URL, GATEHOUSE_KEY, GATEHOUSE_MODEL } = process.env;
const tools = [
  {
    type: "function",
    function: {
      name: "weather",
      description: "The weather of a city",
      parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
    },
  },
];
const headers = { "x-fake": JSON.stringify({ turns: [{ text: "Good day." }] }) };
const callHeaders = {
  "x-fake": JSON.stringify({ turns: [{ calls: [{ name: "weather", arguments: { city: "Paris" } }] }] }),
};
const openai = (defaultHeaders, useResponsesApi) =>
  new ChatOpenAI({
    model: GATEHOUSE_MODEL,
    apiKey: GATEHOUSE_KEY,
    useResponsesApi,
    configuration: { baseURL: `${GATEHOUSE_URL}/v1`, defaultHeaders },
  });
const anthropic = (defaultHeaders) =>
  new ChatAnthropic({
    model: GATEHOUSE_MODEL,
    apiKey: GATEHOUSE_KEY,
    anthropicApiUrl: GATEHOUSE_URL,
    clientOptions: { defaultHeaders },
  });
const clients = {
  chat: (fake) => openai(fake, false),
  responses: (fake) => openai(fake, true),
  messages: anthropic,
};

const results = {};
for (const [name, connect] of Object.entries(clients)) {
  const whole = await connect(headers).invoke("Hi");
  let streamed = "";
  for await (const chunk of await connect(headers).stream("Hi")) streamed += chunk.text;
  const called = await connect(callHeaders).bindTools(tools).invoke("What is the weather?");
  results[name] = {
    text: whole.text,
    stream: streamed,
    calls: called.tool_calls.map(({ name: tool, args }) => ({ name: tool, args })),
    usage: whole.usage_metadata.output_tokens > 0,
  };
}
console.log(JSON.stringify(results));
