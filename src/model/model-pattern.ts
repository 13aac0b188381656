// A model name, or a prefix of model names that ends in `*`.
import { nameField } from "./fields.ts";

export const modelPatternField = nameField.refine(
  (pattern) => !pattern.slice(0, -1).includes("*"),
  "must not contain * except as its last character",
);
