// OpenAI's Agents SDK: an agent with a tool, through the Responses API, whole and streamed.
import { Agent, OpenAIProvider, Runner, setTracingDisabled, tool } from "@openai/agents";
import { z } from "zod";

const { GATEHOUSE_URL, GATEHOUSE_KEY, GATEHOUSE_MODEL } = process.env;
setTracingDisabled(true);
const asked = [];
const weather = tool({
  name: "weather",
  description: "The weather of a city",
  parameters: z.object({ city: z.string() }),
  execute: (input) => {
    asked.push(input);
    return "sunny";
  },
});
const agent = new Agent({
  name: "Reporter",
  instructions: "Be brief.",
  model: GATEHOUSE_MODEL,
  tools: [weather],
});

const results = {};
for (const useResponses of [true, false]) {
  const modelProvider = new OpenAIProvider({
    apiKey: GATEHOUSE_KEY,
    baseURL: `${GATEHOUSE_URL}/v1`,
    useResponses,
  });
  const runner = new Runner({ modelProvider });
  const whole = await runner.run(agent, "What is the weather?");
  const streamed = await runner.run(agent, "What is the weather?", { stream: true });
  await streamed.completed;
  results[useResponses ? "responses" : "chat"] = [whole.finalOutput, streamed.finalOutput];
}
console.log(JSON.stringify({ ...results, asked }));
