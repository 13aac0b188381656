// Multipart bodies are split without loss; only the contents of files are opaque.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { splitMultipart } from "./multipart.ts";

test("contents of files are opaque; names, file names and text parts are not", () => {
  const part = (headers: string, content: string) => `--b\r\n${headers}\r\n\r\n${content}\r\n`;
  const text = `${part('Content-Disposition: form-data; name="prompt"', "PROMPT")}${part(
    'Content-Disposition: form-data; name="image"; filename="NAME.png"\r\nContent-Type: image/png',
    "BYTES",
  )}--b--\r\n`;
  const { pieces } = splitMultipart(text, "--b", true, () => undefined);
  const inspected = pieces.filter(({ isFile }) => !isFile).map((piece) => piece.text);
  expect(inspected.join("")).toContain("PROMPT");
  expect(inspected.join("")).toContain("NAME.png");
  expect(inspected.join("")).not.toContain("BYTES");
});

test("the pieces of any text form the text", () => {
  const token = fc.constantFrom(
    "--b",
    "\r\n",
    "\r\n\r\n",
    'content-disposition: x; filename="f"',
    "text",
    "\u00ff",
  );
  fc.assert(
    fc.property(fc.array(token, { maxLength: 20 }), (tokens) => {
      const text = tokens.join("");
      expect(
        splitMultipart(text, "--b", true, () => undefined)
          .pieces.map((piece) => piece.text)
          .join(""),
      ).toBe(text);
    }),
  );
});
