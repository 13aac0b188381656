// Choices, placeholders, and hints of the controls for a JSON Schema.
import type { Choice } from "./inputs.tsx";
import type { JsonSchema } from "./json-schema.ts";

interface ChoiceOptions {
  readonly isRequired: boolean;
  readonly isNullable: boolean;
  readonly defaultValue: unknown;
}

export function toChoices(
  values: readonly unknown[],
  { isRequired, isNullable, defaultValue }: ChoiceOptions,
): Choice[] {
  const choices = values.map((value) => ({ value: value as Choice["value"], label: choiceLabel(value) }));
  if (isNullable) choices.push({ value: null, label: "None" });
  if (isRequired && defaultValue === undefined) return choices;
  const unset = defaultValue === undefined ? "Not set" : `Default (${choiceLabel(defaultValue)})`;
  return [{ value: undefined, label: unset }, ...choices];
}

function choiceLabel(value: unknown): string {
  if (value === true) return "Yes";
  if (value === false) return "No";
  return typeof value === "string" ? value : JSON.stringify(value);
}

export function formatDefault(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  return typeof value === "string" ? value : JSON.stringify(value);
}

export function hintWithRange({ description, minimum, maximum }: JsonSchema): string | undefined {
  const [low, high] = [formatBound(minimum), formatBound(maximum)];
  const range =
    low !== null && high !== null
      ? `${low} to ${high}.`
      : low !== null
        ? `At least ${low}.`
        : high !== null
          ? `Maximum ${high}.`
          : undefined;
  return [description, range].filter(Boolean).join(" ") || undefined;
}

/** Returns null for no bound, and for the safe integer bounds that zod adds to every integer. */
function formatBound(bound: number | undefined): string | null {
  return bound === undefined || Math.abs(bound) >= Number.MAX_SAFE_INTEGER ? null : bound.toLocaleString();
}
