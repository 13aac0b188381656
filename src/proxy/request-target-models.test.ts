import { expect, test } from "bun:test";
import { modelsInPath, modelsInQuery } from "./request-target-models.ts";

test.each<[string, string[]]>([
  ["/v1/chat/completions", []],
  ["/v1/models", []],
  ["/v1/models/", []],
  ["/v1/models/gpt-4o", ["gpt-4o"]],
  ["/v1/models/accounts/acme/models/llama%2F3", ["accounts/acme/models/llama/3"]],
  ["/v1/models/llama3:8b", ["llama3:8b"]],
  ["/v1beta/models/gemini-2.5-pro:streamGenerateContent", ["gemini-2.5-pro"]],
  ["/v1beta/tunedModels/mine%3AgenerateContent", ["mine"]],
  ["/v1/projects/p/locations/l/publishers/anthropic/models/claude@1:rawPredict", ["claude@1"]],
  ["/v1/projects/p/locations/l/endpoints/42:predict", ["42"]],
  ["/v1/projects/p/locations/l/endpoints/openapi/chat/completions", []],
  ["/openai/deployments/gpt-4o/chat/completions", ["gpt-4o"]],
  ["/openai/DEPLOYMENTS/gpt-4o", ["gpt-4o"]],
  ["/v1/engines/davinci/completions", ["davinci"]],
  ["/engines/llama.cpp/v1/chat/completions", []],
  ["/model/anthropic.claude/converse-stream", ["anthropic.claude"]],
  ["/accounts/1/ai/run/@cf/meta/llama", ["@cf/meta/llama"]],
  ["/models/v1/embeddings", []],
  ["/v1/models/%E0%A4%A", ["%E0%A4%A"]],
])("the models in %s", (path, models) => {
  expect(modelsInPath(path, 0)).toEqual(models);
});

test("names in the part of the path that the operator configured do not count", () => {
  const fixed = "/openai/deployments/prod";
  expect(modelsInPath(`${fixed}/chat/completions`, fixed.length)).toEqual([]);
  expect(modelsInPath(`${fixed}-2/chat/completions`, fixed.length)).toEqual(["prod-2"]);
  expect(modelsInPath(`${fixed}/chat/completions`, fixed.length - "/prod".length)).toEqual(["prod"]);
});

test("the models in a query, in any spelling of the parameter", () => {
  expect(modelsInQuery("?Model=a&x=model&mod%65l=b%20c&deployment=d&model=")).toEqual(["a", "b c", "d", ""]);
  expect(modelsInQuery("")).toEqual([]);
});
