// Names fold as they do in Go's encoding/json: a letter of ASCII to its lower case, and the two others that fold to one.
import { expect, test } from "bun:test";
import { foldCase } from "./fold-case.ts";

test("every character that folds to a letter of ASCII is folded", () => {
  for (let code = 0; code <= 0xffff; code++) {
    const character = String.fromCharCode(code);
    // With the flag `u`, a pattern ignores case by the simple folding of Unicode.
    const letters = character.match(/^[a-z]$/iu);
    if (letters !== null) expect(foldCase(character)).toMatch(/^[a-z]$/);
  }
  expect(foldCase("\u212a\u017fX_Tools")).toBe("ksx_tools");
});
