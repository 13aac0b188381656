// Google's SDK, whose requests go to Gemini targets only: whole, streamed, and the count of tokens.
import { GoogleGenAI } from "@google/genai";

const { GATEHOUSE_URL, GATEHOUSE_KEY, GATEHOUSE_MODEL } = process.env;
const client = new GoogleGenAI({ apiKey: GATEHOUSE_KEY, httpOptions: { baseUrl: GATEHOUSE_URL } });
const request = { model: GATEHOUSE_MODEL, contents: "Hi" };
const whole = await client.models.generateContent(request);
let streamed = "";
for await (const chunk of await client.models.generateContentStream(request)) streamed += chunk.text ?? "";
const { totalTokens } = await client.models.countTokens(request);
console.log(JSON.stringify({ text: whole.text, stream: streamed, counted: totalTokens > 0 }));
