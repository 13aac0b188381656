// What a request says about its output, in the spellings of the APIs.
import { expect, test } from "bun:test";
import { RequestBody } from "./request-body.ts";

const read = (text: string) =>
  RequestBody.scan({ bytes: Buffer.from(text), isJson: true, contentType: null, isTraced: false }).fields
    .generation;

test.each([
  ["{}", null, 1],
  ['{"max_tokens":50}', 50, 1],
  ['{"max_tokens":"50","n":"3"}', 50, 3],
  ['{"max_tokens":10,"max_output_tokens":70,"max_completion_tokens":60}', 70, 1],
  ['{"generationConfig":{"maxOutputTokens":9,"candidateCount":2}}', 9, 2],
  ['{"generation_config":{"max_output_tokens":9},"n":4}', 9, 4],
  ['{"inferenceConfig":{"maxTokens":12}}', 12, 1],
  [`{"generationConfig":{"maxOutputTokens":9,"responseSchema":{"title":"${"a".repeat(9000)}"}}}`, 9, 1],
  ['{"max_tokens":1e400,"n":-1}', null, 1],
  ['{"max_tokens":1,"max_completion_tokens":-1}', 100_000_000, 1],
  [`{"max_tokens":1,"max_completion_tokens":"${" ".repeat(9000)}"}`, 100_000_000, 1],
  [`{"max_tokens":1,"generationConfig":{"maxOutputTokens":"${" ".repeat(9000)}"}}`, 100_000_000, 1],
])("%s", (text, maxOutputTokens, choices) => {
  expect(read(text)).toMatchObject({ maxOutputTokens, choices });
});

test.each([
  ["{}", false],
  ['{"background":false}', false],
  ['{"background":null}', false],
  ['{"background":true}', true],
  // Servers in Python read it as true.
  ['{"background":"true"}', true],
  [`{"background":"${" ".repeat(9000)}"}`, true],
])("background in %s: %p", (text, expected) => {
  expect(read(text).isBackground).toBe(expected);
});

test.each([
  ["{}", null],
  ['{"reasoning_effort":"none"}', "off"],
  ['{"reasoning_effort":"low"}', "on"],
  ['{"reasoning":{"effort":"none"}}', "off"],
  ['{"reasoning":{"summary":"auto"}}', null],
  ['{"reasoning":{"enabled":false}}', "off"],
  ['{"reasoning":{"max_tokens":900}}', "on"],
  ['{"thinking":{"type":"disabled","budget_tokens":900}}', "off"],
  ['{"thinking":{"type":"enabled","budget_tokens":900}}', "on"],
  ['{"thinking":{"type":"adaptive"}}', "on"],
  ['{"generationConfig":{"thinkingConfig":{"thinkingBudget":0}}}', "off"],
  ['{"generation_config":{"thinking_config":{"thinking_level":"low"}}}', "on"],
  ['{"enable_thinking":false}', "off"],
  ['{"chat_template_kwargs":{"enable_thinking":false}}', "off"],
  ['{"think":true}', "on"],
  // Servers read different fields.
  ['{"reasoning_effort":"none","reasoning":{"effort":"high"}}', "on"],
] as const)("reasoning in %s: %p", (text, expected) => {
  expect(read(text).reasoning).toBe(expected);
});
