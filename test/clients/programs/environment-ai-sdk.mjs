// The Vercel AI SDK with settings from the environment only.
import { anthropic } from "@ai-sdk/anthropic";
import { openai } from "@ai-sdk/openai";
import { generateText } from "ai";

const { GATEHOUSE_MODEL } = process.env;
const texts = [];
for (const model of [openai(GATEHOUSE_MODEL), openai.chat(GATEHOUSE_MODEL), anthropic(GATEHOUSE_MODEL)])
  texts.push((await generateText({ model, prompt: "Hi" })).text);
console.log(JSON.stringify(texts));
