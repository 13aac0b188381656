// OpenAI audio: speech as bytes, and transcriptions of uploaded files.
import { countWords } from "../conversation.ts";
import { type JsonObject, stringOf } from "../loose-json.ts";
import { readMultipart, textPart } from "../multipart.ts";
import { type FakeResponse, jsonResponse, slices, sseEvent, streamResponse } from "../response.ts";
import { type ApiCall, jsonBody } from "./api.ts";
import { openAiError, openAiHeaders } from "./openai-errors.ts";

const CONTENT_TYPES: Record<string, string> = {
  mp3: "audio/mpeg",
  opus: "audio/ogg",
  aac: "audio/aac",
  flac: "audio/flac",
  wav: "audio/wav",
  pcm: "audio/pcm",
};
const BYTES_PER_CHARACTER = 100;
const MAX_CHARACTERS = 4096;
const PIECE_BYTES = 4096;

/** The bytes depend only on the input; no player can decode them. They are sent in chunks, as they are synthesized. */
export function createSpeech({ request }: ApiCall): FakeResponse {
  const body = jsonBody(request);
  const input = stringOf(body?.["input"]);
  if (body === null || input === "" || input.length > MAX_CHARACTERS)
    return openAiError(request, 400, `Invalid 'input': give a text of at most ${MAX_CHARACTERS} characters.`);
  const type = CONTENT_TYPES[stringOf(body["response_format"], "mp3")];
  if (type === undefined) return openAiError(request, 400, "Invalid 'response_format'.");
  const audio = Buffer.alloc(input.length * BYTES_PER_CHARACTER, input);
  return {
    status: 200,
    headers: [["Content-Type", type], ...openAiHeaders(request)],
    body: { kind: "stream", pieces: slices(audio, PIECE_BYTES) },
  };
}

export function transcribe({ request, behavior }: ApiCall): FakeResponse {
  const form = readMultipart(request);
  const file = form?.get("file");
  if (form === null || file === undefined || file.filename === "")
    return openAiError(request, 400, "The request is not multipart/form-data with the part 'file'.");
  if (textPart(form, "model") === "missing-model") return openAiError(request, 404);
  const text = behavior.text ?? `The file ${file.filename} has ${file.content.length} bytes.`;
  const input = behavior.usage?.input ?? Math.ceil(file.content.length / BYTES_PER_CHARACTER);
  const output = behavior.usage?.output ?? countWords(text);
  const usage = {
    type: "tokens",
    input_tokens: input,
    input_token_details: { text_tokens: 0, audio_tokens: input },
    output_tokens: output,
    total_tokens: input + output,
  };
  const headers = openAiHeaders(request);
  if (textPart(form, "stream") === "true") return streamResponse(transcriptEvents(text, usage), headers);
  return transcript(textPart(form, "response_format"), text, usage, headers);
}

function transcript(format: string, text: string, usage: JsonObject, headers: FakeResponse["headers"]) {
  const plain = (content: string): FakeResponse => ({
    status: 200,
    headers: [["Content-Type", "text/plain; charset=utf-8"], ...headers],
    body: { kind: "whole", bytes: Buffer.from(content) },
  });
  switch (format) {
    case "text":
      return plain(`${text}\n`);
    case "srt":
      return plain(`1\n00:00:00,000 --> 00:00:01,000\n${text}\n`);
    case "vtt":
      return plain(`WEBVTT\n\n00:00:00.000 --> 00:00:01.000\n${text}\n`);
    case "verbose_json": {
      const segments = [{ id: 0, seek: 0, start: 0, end: 1, text, tokens: [], temperature: 0 }];
      const duration = { type: "duration", seconds: 1 };
      const verbose = { task: "transcribe", language: "english", duration: 1, text, segments };
      return jsonResponse(200, { ...verbose, usage: duration }, headers);
    }
    default:
      return jsonResponse(200, { text, usage }, headers);
  }
}

function* transcriptEvents(text: string, usage: JsonObject): Generator<Uint8Array> {
  for (const delta of text.match(/\s*\S+|\s+$/g) ?? [])
    yield sseEvent({ type: "transcript.text.delta", delta });
  yield sseEvent({ type: "transcript.text.done", text, usage });
  yield sseEvent("[DONE]");
}
