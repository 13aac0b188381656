// Models in the messages of WebSockets.
import { describe, expect, test } from "bun:test";
import { ModelAllowList } from "../../snapshot/model-allow-list.ts";
import { forbiddenModelIn } from "./message-models.ts";

const allowed = new ModelAllowList(["ok", "ok-*"]);

describe("a model that the key may not use is found", () => {
  test.each([
    ['{"model":"bad"}', "at the top"],
    ['{"session":{"audio":[{"x":{"model" :\n "bad"}}]}}', "anywhere, with spaces"],
    ['{"model":"bad","model":"ok"}', "before another one"],
    ['{"model":"ok","model":"bad"}', "after another one"],
    ['{"mod\\u0065l":"bad"}', "with an escaped name"],
    ['{"\\u006d\\u006f\\u0064\\u0065\\u006c":"bad"}', "with a name of escapes only"],
    ['{"MODEL":"bad"}', "with a name in upper case"],
    ['{"model":"b\\u0061d"}', "with an escaped value"],
    ['{"a":"\\\\","model":"bad"}', "after a string that ends with a backslash"],
    ['{"a":"\\"","model":"bad"}', "after an escaped quote"],
    [`{"a":"${"\\/".repeat(2_000_000)}","model":"bad"}`, "after a string with millions of escapes"],
  ])("%#", (message) => {
    expect(forbiddenModelIn(message, allowed)).toBe("bad");
    expect(forbiddenModelIn(Buffer.from(message), allowed)).toBe("bad");
  });
});

test.each([
  '{"model":"ok","session":{"model":"ok-mini"}}',
  '{"text":"the \\"model\\": \\"bad\\""}',
  '{"parameters":{"properties":{"model":{"type":"string"}}}}',
  '["model","bad"]',
  '{"x":"model"}',
  '{"model":null}',
  '{"model":"bad',
  "",
  '"',
  '{"model":',
])("a message without such a model passes: %s", (message) => {
  expect(forbiddenModelIn(message, allowed)).toBeNull();
});

test("a message of nothing but quotes, backslashes or names is read to its end", () => {
  const size = 200_000;
  for (const part of ['"', "\\", '\\"', '"model":', '"model" ', '"a":"b",'])
    expect(forbiddenModelIn(part.repeat(size), allowed)).toBeOneOf([null, ",", "model", ":"]);
});
