// LangChain with settings from the environment only.
import { ChatAnthropic } from "@langchain/anthropic";
import { ChatOpenAI } from "@langchain/openai";

const { GATEHOUSE_MODEL: model } = process.env;
const texts = [];
for (const chat of [new ChatOpenAI({ model }), new ChatAnthropic({ model })])
  texts.push((await chat.invoke("Hi")).text);
console.log(JSON.stringify(texts));
