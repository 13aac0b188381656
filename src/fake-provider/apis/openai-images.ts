// OpenAI image generation: a PNG of one pixel, as base64 or as a URL.
import { countWords } from "../conversation.ts";
import { stringOf } from "../loose-json.ts";
import { type FakeResponse, jsonResponse } from "../response.ts";
import { type ApiCall, jsonBody, unixSeconds } from "./api.ts";
import { openAiError, openAiHeaders } from "./openai-errors.ts";

const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const MAX_IMAGES = 10;

export function generateImages({ request, behavior }: ApiCall): FakeResponse {
  const body = jsonBody(request);
  const prompt = stringOf(body?.["prompt"]);
  if (body === null || prompt === "")
    return openAiError(request, 400, "Missing required parameter: 'prompt'.");
  const { n = 1 } = body;
  if (typeof n !== "number" || !(n >= 1 && n <= MAX_IMAGES))
    return openAiError(request, 400, `Invalid 'n': give a number from 1 to ${MAX_IMAGES}.`);
  // The models dall-e-2 and dall-e-3 return a URL unless base64 is requested; newer models always return base64.
  const asUrl = stringOf(body["model"]).startsWith("dall-e") && body["response_format"] !== "b64_json";
  const image = asUrl ? { url: `https://images.invalid/fake${request.serial}.png` } : { b64_json: PIXEL };
  const input = behavior.usage?.input ?? countWords(prompt);
  const output = behavior.usage?.output ?? 100 * Math.floor(n);
  const images = {
    created: unixSeconds(),
    data: Array.from({ length: Math.floor(n) }, () => image),
    output_format: "png",
    size: stringOf(body["size"], "1024x1024"),
    usage: {
      input_tokens: input,
      input_tokens_details: { text_tokens: input, image_tokens: 0 },
      output_tokens: output,
      total_tokens: input + output,
    },
  };
  return jsonResponse(200, images, openAiHeaders(request));
}
