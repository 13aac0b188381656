import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { idsInResponse } from "../../formats/stored-ids.ts";
import type { Endpoint } from "../../formats/operations.ts";
import { IdSeal } from "./id-seal.ts";
import { ResponseIds } from "./response-ids.ts";
import { grapheme } from "../../../test/support/characters.ts";

const OWNER = { gatewayId: "gateway", apiKeyId: null };
const TAG = "aabbccddeeff";
const RESPONSES: Endpoint = {
  operation: "responses",
  format: "responses",
  tail: "/responses",
  model: null,
  wantsStream: null,
};
const idSeal = new IdSeal("a-secret-that-is-long-enough-for-tests-0123456789");
const SEALED = idSeal.seal("resp_1", TAG, OWNER) ?? "";

/** Splices a text that arrives in chunks, which end at these places. */
function splice(text: string, isStream: boolean, cuts: readonly number[] = []): string {
  const part = idsInResponse(RESPONSES, null);
  if (part === null) throw new Error("responses have ids");
  const splicer = new ResponseIds(part, idSeal, OWNER, TAG, "http://gateway/v1/responses").splicer(isStream);
  const bytes = Buffer.from(text);
  const ends = [...new Set(cuts.map((cut) => cut % bytes.length)), bytes.length].sort((a, b) => a - b);
  const chunks = ends.map((end, index) => splicer.push(bytes.subarray(ends[index - 1] ?? 0, end)));
  return Buffer.concat([...chunks, splicer.end()]).toString();
}

/** Text around ids that must not change, even if it looks like one. */
const content = fc.oneof(
  fc.string({ unit: grapheme }),
  fc.constantFrom('"id":"resp_1"', "resp_1", "data: {}\n\n"),
);
const cuts = fc.array(fc.nat(2000), { maxLength: 30 });

describe("ResponseIds", () => {
  test("property: replaces the ids of a body and nothing else, in chunks of any size", () => {
    fc.assert(
      fc.property(content, fc.constantFrom(0, 2, "\t"), cuts, (text, indent, at) => {
        const body = (id: string) =>
          JSON.stringify(
            {
              [text]: "resp_1",
              output: [{ id: "resp_1", text }],
              id,
              previous_response_id: id,
              metadata: { id: text },
            },
            null,
            indent,
          );
        fc.pre(!["output", "id", "previous_response_id", "metadata", "response_id"].includes(text));
        expect(splice(body("resp_1"), false, at)).toBe(body(SEALED));
      }),
    );
  });

  test("replaces the ids of files that a response repeats from its request, or shows as the input of the model", () => {
    const body = (id: string) => {
      const file = { type: "input_file", file_id: id };
      return JSON.stringify({
        instructions: [{ role: "user", content: [file] }],
        tools: [
          { type: "code_interpreter", container: { type: "auto", file_ids: [id, id] } },
          { type: "image_generation", input_image_mask: { file_id: id } },
          {
            type: "function",
            parameters: { file_id: "resp_1", properties: { file_id: { const: "resp_1" } } },
          },
        ],
        prompt: { id: "resp_1", variables: { file_id: file, text: "resp_1" } },
        output: [
          { type: "function_call_output", output: [file] },
          { type: "computer_call_output", output: { type: "computer_screenshot", file_id: id } },
          { type: "function_call_output", output: "resp_1" },
        ],
      });
    };
    expect(splice(body("resp_1"), false)).toBe(body(SEALED));
    expect(splice(`data: {"response":${body("resp_1")}}\n\n`, true)).toBe(
      `data: {"response":${body(SEALED)}}\n\n`,
    );
  });

  test("property: replaces the ids in the events of a stream and nothing else, in chunks of any size", () => {
    const event = fc.record({
      text: content,
      lineEnd: fc.constantFrom("\n", "\r\n"),
      space: fc.constantFrom("", " "),
    });
    fc.assert(
      fc.property(fc.array(event, { maxLength: 8 }), cuts, (events, at) => {
        const stream = (id: string) =>
          events
            .map(({ text, lineEnd, space }, sequence) => {
              const json = JSON.stringify({
                type: text,
                response: { id, metadata: { id: "resp_1" } },
                sequence,
              });
              return `event: x${lineEnd}data:${space}${json}${lineEnd}: {"id":"resp_1"}${lineEnd}${lineEnd}`;
            })
            .join("") + "data: [DONE]\n\n";
        expect(splice(stream("resp_1"), true, at)).toBe(stream(SEALED));
      }),
    );
  });

  test("a stream that is cut within an id keeps its bytes", () => {
    const text = 'data: {"response":{"id":"resp_1","x":1}}\n\ndata: {"response":{"id":"resp';
    expect(splice(text, true)).toBe(text.replace("resp_1", SEALED));
  });

  test("bytes without ids are passed on without a copy", () => {
    const part = idsInResponse(RESPONSES, null);
    if (part === null) throw new Error("responses have ids");
    const splicer = new ResponseIds(part, idSeal, OWNER, TAG, "http://gateway").splicer(true);
    const bytes = Buffer.from('data: {"type":"response.output_text.delta","delta":"x"}\n\n');
    expect(splicer.push(bytes)).toBe(bytes);
  });
});
