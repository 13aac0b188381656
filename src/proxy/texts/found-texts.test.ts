// The texts of whole bodies: those of one document, and of one per line.
import { expect, test } from "bun:test";
import { formatNamed } from "../../formats/registry.ts";
import { findTexts } from "./found-texts.ts";

const choice = (text: string) => ({ text, finish_reason: "stop", logprobs: { tokens: ["a"] } });
const body = { choices: [choice("a"), choice("b")] };

// For each end, all channels are searched: an end for each choice or line takes quadratic time.
test.each([
  ["document", JSON.stringify(body), true],
  ["document per line", [body, body, body].map((line) => JSON.stringify(line)).join("\n"), false],
])("all texts of a %s end at once", (_, json, isStrict) => {
  const found = findTexts(Buffer.from(json), formatNamed("openai").texts, isStrict);
  if (found === null || found === "mixed") throw new Error("the texts were not found");
  expect(found.filter(({ type }) => type === "end")).toEqual([{ type: "end", prefix: "" }]);
  expect(found.at(-1)?.type).toBe("end");
});
