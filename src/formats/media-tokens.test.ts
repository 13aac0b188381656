// How many tokens the media of a request, and conversations that the provider has stored, may have at most.
import { expect, test } from "bun:test";
import fc from "fast-check";
import type { JsonObject } from "../base/json.ts";
import { UNKNOWN_TOKENS } from "./media-tokens.ts";
import { estimateInput } from "./token-estimate.ts";

/** 3,000 bytes. */
const DATA = Buffer.alloc(3000, 1).toString("base64");
const DOCUMENT = 750;
const RECORDING = 30;
const URL = "https://example.com/a";

const fileTokensOf = (body: JsonObject) => estimateInput(body).fileTokens;
const ofPart = (part: JsonObject) => fileTokensOf({ messages: [{ role: "user", content: [part] }] });

test.each<[string, JsonObject, number]>([
  ["a text", { type: "text", text: DATA }, 0],
  ["an image of a chat", { type: "image_url", image_url: { url: URL } }, 0],
  ["an image of messages", { type: "image", source: { type: "url", url: URL } }, 0],
  ["an image of Gemini", { inlineData: { mimeType: "image/png", data: DATA } }, 0],
  ["an image of Bedrock", { image: { format: "png", source: { bytes: DATA } } }, 0],
  ["an image of a response that is stored", { type: "input_image", file_id: "file-1" }, 0],
  ["a document of text", { type: "document", source: { type: "text", data: DATA } }, 0],
  ["a result of a search", { results: [{ file_id: "file-1", text: "a" }] }, 0],
  ["a document", { type: "document", source: { type: "base64", data: DATA } }, DOCUMENT],
  ["a document of Bedrock", { document: { format: "pdf", source: { bytes: DATA } } }, DOCUMENT],
  ["a document of Gemini", { inline_data: { mime_type: "application/pdf", data: DATA } }, DOCUMENT],
  ["a file", { type: "input_file", file_data: DATA }, DOCUMENT],
  ["audio of a chat", { type: "input_audio", input_audio: { data: DATA, format: "mp3" } }, RECORDING],
  ["audio of Gemini", { inlineData: { mimeType: "audio/mp3", data: DATA } }, RECORDING],
  ["video of Gemini", { inlineData: { mimeType: "Video/mp4", data: DATA } }, RECORDING],
  ["a document at a URL", { type: "document", source: { type: "url", url: URL } }, UNKNOWN_TOKENS],
  ["a document that is stored", { type: "document", source: { type: "file", file_id: "1" } }, UNKNOWN_TOKENS],
  [
    "a document of Bedrock that is stored",
    { document: { source: { s3Location: { uri: "s3://a" } } } },
    UNKNOWN_TOKENS,
  ],
  ["a file that is stored", { type: "file", file: { file_id: "file-1" } }, UNKNOWN_TOKENS],
  ["a file at a URL", { type: "input_file", file_url: URL }, UNKNOWN_TOKENS],
  ["a file of Gemini", { fileData: { mimeType: "video/mp4", fileUri: URL } }, UNKNOWN_TOKENS],
  ["audio at a URL", { type: "input_audio", input_audio: { data: URL } }, UNKNOWN_TOKENS],
])("%s", (_, part, expected) => {
  expect(ofPart(part)).toBeWithin(expected, expected + 1);
});

test.each<[JsonObject, boolean]>([
  [{ previous_response_id: "resp_1" }, true],
  [{ previous_response_id: null }, false],
  [{ conversation: "conv_1" }, true],
  [{ conversation: { id: "conv_1" } }, true],
  [{ cachedContent: "cachedContents/1" }, true],
  [{ input: [{ type: "item_reference", id: "msg_1" }] }, true],
  [{ input: [{ type: null, id: "msg_1" }] }, true],
  [{ input: [{ role: "assistant", id: "msg_1", content: "a" }] }, false],
  [{ input: [{ type: "function_call", id: "fc_1", arguments: "{}" }] }, false],
  [{ prompt: { id: "pmpt_1" } }, false],
])("whether the provider has a part of the input: %p %p", (body, isStored) => {
  expect(fileTokensOf(body)).toBe(isStored ? UNKNOWN_TOKENS : 0);
});

test("audio is a part of the usual tokens", () => {
  const audio = { type: "input_audio", input_audio: { data: DATA } };
  const media = { inlineData: { mimeType: "audio/mp3", data: DATA } };
  const { inputTokens, audioTokens } = estimateInput({ messages: [{ content: [audio, audio, media] }] });
  expect(audioTokens).toBe(1800);
  expect(inputTokens).toBeWithin(1800, 1820);
});

test("parts with fields of wrong types have at most as many tokens as are unknown", () => {
  const names = ["type", "source", "file", "file_data", "input_audio", "video_url", "inlineData", "fileData"];
  const types = ["file", "input_file", "input_audio", "video_url", "document", "item_reference"];
  const value = fc.oneof(fc.constantFrom(...types), fc.jsonValue({ maxDepth: 2 }));
  const part = fc.dictionary(fc.constantFrom(...names, "id", "url", "bytes", "format"), value);
  fc.assert(
    fc.property(fc.array(part), fc.constantFrom("messages", "input"), (parts, name) => {
      const { fileTokens, audioTokens, inputTokens } = estimateInput({ [name]: parts });
      expect(Number.isInteger(fileTokens)).toBe(true);
      expect(fileTokens).toBeWithin(0, UNKNOWN_TOKENS + 1);
      expect(audioTokens).toBeWithin(0, inputTokens);
    }),
    { numRuns: 300 },
  );
});
