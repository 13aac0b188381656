// Details of responses: wherever a stream is split, and whatever it contains.
import { expect, test } from "bun:test";
import { anthropicDetails } from "./anthropic/details.ts";
import { openaiDetails } from "./openai/details.ts";
import { ResponseDetails } from "./response-details.ts";

const chunk = (fields: object) => `data: ${JSON.stringify({ id: "chatcmpl-1", ...fields })}\r\n\r\n`;
const STREAM = [
  chunk({ id: "", choices: [] }),
  chunk({ choices: [{ index: 0, delta: { content: "ä" }, finish_reason: null }] }),
  chunk({ choices: [{ index: 0, delta: {}, finish_reason: "tool_calls" }] }),
  "data: [DONE]\r\n\r\n",
].join("");

const shown = ({ id, finishReasons }: ResponseDetails) => ({ id, finishReasons });

test("a stream split at any byte", () => {
  const bytes = Buffer.from(STREAM);
  for (let at = 0; at <= bytes.byteLength; at++) {
    const details = new ResponseDetails(openaiDetails);
    details.push(bytes.subarray(0, at));
    details.push(bytes.subarray(at));
    expect(shown(details)).toEqual({ id: "chatcmpl-1", finishReasons: ["tool_calls"] });
  }
});

test("an event that is too large ends the reading, and what was read stays", () => {
  const details = new ResponseDetails(openaiDetails);
  details.push(Buffer.from(chunk({ choices: [] })));
  details.push(Buffer.from(`data: "${"x".repeat(5 * 1024 * 1024)}`));
  details.push(Buffer.from(`"\n\n${chunk({ choices: [{ index: 0, finish_reason: "stop" }] })}`));
  expect(shown(details)).toMatchObject({ id: "chatcmpl-1", finishReasons: [] });
});

test("a body of Anthropic that is read twice", () => {
  const details = new ResponseDetails(anthropicDetails);
  const body = Buffer.from(JSON.stringify({ id: "msg_1", stop_reason: "max_tokens" }));
  details.readBody(body);
  details.readBody(body);
  expect(shown(details)).toEqual({ id: "msg_1", finishReasons: ["max_tokens"] });
});
