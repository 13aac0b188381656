// What a new credential contains, and what choosing a provider sets.
import { expect, test } from "bun:test";
import type { Provider } from "../api/types.ts";
import { emptyCredential, setupOf } from "./credential.ts";

const AZURE: Provider = {
  name: "azure",
  title: "Azure OpenAI",
  group: "cloud",
  base_url: null,
  base_url_example: "https://my-resource.openai.azure.com",
  format: "openai",
  default_path: "/openai/v1/chat/completions",
  formats: ["openai", "responses"],
  operations: ["chat"],
  credential_types: ["header", "azure_client"],
  key_header: { name: "api-key", prefix: "" },
};
const BEARER = { header_name: "Authorization", header_value: "Bearer " };

test("the key is in the header of the provider, unless the format of the target has one", () => {
  expect(emptyCredential({ provider: AZURE })).toEqual({ header_name: "api-key", header_value: "" });
  expect(emptyCredential({ provider: undefined, format: "openai" })).toEqual(BEARER);
  expect(emptyCredential({ provider: undefined })).toEqual(BEARER);
  expect(emptyCredential({ provider: AZURE, format: "anthropic" })).toEqual({
    header_name: "x-api-key",
    header_value: "",
  });
  expect(emptyCredential({ provider: undefined, format: "gemini" })).toEqual({
    header_name: "x-goog-api-key",
    header_value: "",
  });
});

test("choosing a provider sets address and credential, and removes the wire format", () => {
  const common = { base_url: null, format: null };
  expect(setupOf(AZURE)).toEqual({
    ...common,
    provider: "azure",
    credentials: { header_name: "api-key", header_value: "" },
  });
  const own: Provider = {
    ...AZURE,
    name: "ollama",
    group: "self_hosted",
    base_url_example: "http://localhost:11434",
    credential_types: [],
  };
  expect(setupOf(own)).toEqual({
    ...common,
    provider: "ollama",
    base_url: "http://localhost:11434",
    credentials: null,
  });
});
