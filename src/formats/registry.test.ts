// Every format is registered under its name, and its chat endpoints are recognized, including those of the provider table.
import { expect, test } from "bun:test";
import { FORMAT_NAMES } from "./format-names.ts";
import { chatPathOf, knownProviders } from "./providers.ts";
import { formatNamed, formatOfChatPath } from "./registry.ts";

test.each(FORMAT_NAMES)("%s is registered under its name and recognizes its chat path", (name) => {
  const format = formatNamed(name);
  expect(format.name).toBe(name);
  expect(format.isChatPath(format.chatPath)).toBe(true);
  expect(formatOfChatPath(`/prefix${format.chatPath}`)).toBe(format);
});

test.each(knownProviders().map((provider) => [provider.name, provider] as const))(
  "the chat path of %s is recognized, and another format has its own path",
  (_, provider) => {
    expect(formatNamed(provider.format).isChatPath(provider.default_path)).toBe(true);
    for (const name of FORMAT_NAMES) {
      const format = formatNamed(name);
      const expected = name === provider.format ? provider.default_path : format.chatPath;
      expect(chatPathOf(provider, format)).toBe(expected);
    }
  },
);

test("other paths belong to no format", () => {
  for (const path of ["/v1/embeddings", "/v1/messages/count_tokens", "/v1/models", "/"])
    expect(formatOfChatPath(path)).toBeNull();
});
