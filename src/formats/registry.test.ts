// Every format is registered under its name, and its chat endpoints are recognized, including those of the provider table.
import { expect, test } from "bun:test";
import { FORMAT_NAMES } from "./format-names.ts";
import { EndpointTable } from "./endpoint-table.ts";
import { formatOf, knownProviders } from "./providers.ts";
import { formatNamed, formatOfChatPath } from "./registry.ts";

test.each(FORMAT_NAMES)("%s is registered under its name and recognizes its chat path", (name) => {
  const format = formatNamed(name);
  expect(format.name).toBe(name);
  expect(format.isChatPath(`/v1${format.chatTail}`)).toBe(true);
  expect(formatOfChatPath(`/prefix/v1${format.chatTail}`)).toBe(format);
});

test.each(knownProviders().map((provider) => [provider.name, provider] as const))(
  "the chat path of %s is recognized, in every format that a target may set",
  (_, provider) => {
    for (const name of [null, ...FORMAT_NAMES]) {
      const { chat } = EndpointTable.of(provider, name);
      expect(chat.format.name).toBe(name ?? formatOf(provider));
      expect(chat.format.isChatPath(chat.path)).toBe(true);
    }
  },
);

test("other paths belong to no format", () => {
  for (const path of ["/v1/embeddings", "/v1/messages/count_tokens", "/v1/models", "/"])
    expect(formatOfChatPath(path)).toBeNull();
});
