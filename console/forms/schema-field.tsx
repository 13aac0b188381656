// Draws the control that a JSON Schema asks for, and those within it. Custom plugins get their forms this way.
import type { JSX } from "preact";
import { Button, IconButton } from "../components/button.tsx";
import { join } from "../state/json-path.ts";
import { MapField } from "./collections.tsx";
import { FieldFaults, idOf, type FieldSource } from "./field.tsx";
import { CheckField, ChoiceField, NumberField, SeveralField, TextField, type Choice } from "./inputs.tsx";
import { JsonField } from "./json-field.tsx";
import { fitsVariant, labelOf, nameOfVariant, readSchema, startOf, type JsonSchema } from "./json-schema.ts";

export interface SchemaFieldProps {
  readonly form: FieldSource;
  readonly at: string;
  readonly label: string;
  readonly schema: JsonSchema;
  /** The whole schema, for references. */
  readonly root: JsonSchema;
  readonly isRequired?: boolean;
}

/** The fields of an object, without a frame. */
export function SchemaFields({ form, at, schema, root }: Omit<SchemaFieldProps, "label">): JSX.Element {
  const read = readSchema(schema, root).schema;
  return (
    <>
      {Object.entries(read.properties ?? {}).map(([name, field]) => (
        <SchemaField
          key={name}
          form={form}
          at={join(at, name)}
          label={labelOf(name, field)}
          schema={field}
          root={root}
          isRequired={read.required?.includes(name) === true}
        />
      ))}
    </>
  );
}

export function SchemaField(props: SchemaFieldProps): JSX.Element | null {
  const { form, at, label, root, isRequired = false } = props;
  const { kind, schema, isNullable } = readSchema(props.schema, root);
  const field = { form, at, label, hint: schema.description, isRequired };
  const fallback = schema.default;
  switch (kind) {
    case "constant":
      return <ChoiceField {...field} choices={choicesOf([schema.const], isRequired, isNullable, fallback)} />;
    case "choice":
      return (
        <ChoiceField {...field} choices={choicesOf(schema.enum ?? [], isRequired, isNullable, fallback)} />
      );
    case "boolean":
      return isNullable || (!isRequired && fallback === undefined) ? (
        <ChoiceField {...field} choices={choicesOf([true, false], isRequired, isNullable, fallback)} />
      ) : (
        <CheckField {...field} fallback={fallback === true} />
      );
    case "number":
      return (
        <NumberField {...field} hint={withRange(schema)} placeholder={shown(fallback)} empty={undefined} />
      );
    case "text":
      return <TextField {...field} placeholder={shown(fallback)} empty={undefined} />;
    case "several": {
      const items = readSchema(schema.items ?? {}, root).schema.enum ?? [];
      return (
        <SeveralField
          {...field}
          choices={items.map((value) => ({ value: String(value), label: labelOf(String(value), {}) }))}
        />
      );
    }
    case "list":
      return <ListField {...props} schema={schema} />;
    case "map":
      return <MapField {...field} />;
    case "object":
      return <ObjectField {...props} schema={schema} />;
    case "variants":
      return <VariantField {...props} schema={schema} />;
    case "json":
      return <JsonField {...field} rows={4} />;
  }
}

function choicesOf(
  values: readonly unknown[],
  isRequired: boolean,
  isNullable: boolean,
  fallback: unknown,
): Choice[] {
  const choices = values.map((value) => ({ value: value as Choice["value"], label: sayChoice(value) }));
  if (isNullable) choices.push({ value: null, label: "none" });
  if (isRequired && fallback === undefined) return choices;
  const unset = fallback === undefined ? "not set" : `default (${sayChoice(fallback)})`;
  return [{ value: undefined, label: unset }, ...choices];
}

function sayChoice(value: unknown): string {
  if (value === true) return "yes";
  if (value === false) return "no";
  return typeof value === "string" ? value : JSON.stringify(value);
}

function shown(fallback: unknown): string | undefined {
  if (fallback === undefined || fallback === null) return undefined;
  return typeof fallback === "string" ? fallback : JSON.stringify(fallback);
}

function grouped(bound: number | undefined): string {
  return bound?.toLocaleString() ?? "";
}

function withRange({ description, minimum, maximum }: JsonSchema): string | undefined {
  // Zod gives every integer the bounds of what a double can hold; they tell nobody anything.
  const isTold = (bound: number | undefined) =>
    bound !== undefined && Math.abs(bound) < Number.MAX_SAFE_INTEGER;
  const range =
    isTold(minimum) && isTold(maximum)
      ? `${grouped(minimum)} to ${grouped(maximum)}.`
      : isTold(minimum)
        ? `At least ${grouped(minimum)}.`
        : isTold(maximum)
          ? `At most ${grouped(maximum)}.`
          : undefined;
  return [description, range].filter(Boolean).join(" ") || undefined;
}

/** An object is a box; one that may be left out has a check to put it in. */
function ObjectField({ form, at, label, schema, root, isRequired = false }: SchemaFieldProps): JSX.Element {
  const value = form.get(at);
  const isThere = typeof value === "object" && value !== null;
  const isOptional = !isRequired && schema.default === undefined;
  return (
    <fieldset class="field box" id={idOf(at)}>
      <legend>
        {isOptional ? (
          <label class="check">
            <input
              type="checkbox"
              checked={isThere}
              onChange={(event) =>
                form.set(at, event.currentTarget.checked ? startOf(schema, root) : undefined)
              }
            />
            <span>{label}</span>
          </label>
        ) : (
          label
        )}
      </legend>
      {schema.description !== undefined && <p class="hint">{schema.description}</p>}
      {(isThere || !isOptional) && (
        <div class={isFlat(schema, root) ? "fields inline" : "fields"}>
          <SchemaFields form={form} at={at} schema={schema} root={root} />
        </div>
      )}
      <FieldFaults form={form} at={at} isShallow />
    </fieldset>
  );
}

/** A few plain fields stand side by side. */
function isFlat({ properties = {} }: JsonSchema, root: JsonSchema): boolean {
  const fields = Object.values(properties);
  const plain = ["choice", "boolean", "number", "text", "constant"];
  return fields.length <= 3 && fields.every((field) => plain.includes(readSchema(field, root).kind));
}

function ListField({ form, at, label, schema, root, isRequired = false }: SchemaFieldProps): JSX.Element {
  const value = form.get(at);
  const items = Array.isArray(value) ? (value as unknown[]) : [];
  const item = readSchema(schema.items ?? {}, root);
  const isObject = item.kind === "object";
  return (
    <fieldset class="field box" id={idOf(at)}>
      <legend>
        {label}
        {isRequired && <span class="required"> required</span>}
      </legend>
      {schema.description !== undefined && <p class="hint">{schema.description}</p>}
      {items.map((_, index) => (
        <div class="item" key={index}>
          <div class="fields inline">
            {isObject ? (
              <SchemaFields form={form} at={join(at, index)} schema={item.schema} root={root} />
            ) : (
              <SchemaField
                form={form}
                at={join(at, index)}
                label={`${label} ${index + 1}`}
                schema={item.schema}
                root={root}
                isRequired
              />
            )}
          </div>
          <IconButton
            icon="remove"
            label={`Remove ${label.toLowerCase()} ${index + 1}`}
            onClick={() =>
              form.set(
                at,
                items.filter((__, each) => each !== index),
              )
            }
          />
        </div>
      ))}
      <Button
        icon="add"
        label={`Add to ${label.toLowerCase()}`}
        onClick={() =>
          form.set(at, [...items, startOf(item.schema, root) ?? (item.kind === "text" ? "" : null)])
        }
      >
        Add
      </Button>
      <FieldFaults form={form} at={at} isShallow />
    </fieldset>
  );
}

function VariantField({ form, at, label, schema, root, isRequired = false }: SchemaFieldProps): JSX.Element {
  const variants = schema.anyOf ?? schema.oneOf ?? [];
  const value = form.get(at);
  const chosen =
    value === undefined ? -1 : variants.findIndex((variant) => fitsVariant(value, variant, root));
  const variant = variants[chosen];
  const id = idOf(at);
  return (
    <fieldset class="field box" id={id}>
      <legend>
        {label}
        {isRequired && <span class="required"> required</span>}
      </legend>
      {schema.description !== undefined && <p class="hint">{schema.description}</p>}
      <select
        class="input"
        aria-label={`Kind of ${label.toLowerCase()}`}
        value={String(chosen)}
        onChange={(event) => {
          const next = variants[Number(event.currentTarget.value)];
          form.set(
            at,
            next === undefined ? undefined : (startOf(next, root) ?? (next.type === "string" ? "" : null)),
          );
        }}
      >
        <option value="-1">not set</option>
        {variants.map((each, index) => (
          <option key={index} value={String(index)}>
            {nameOfVariant(readSchema(each, root).schema, index)}
          </option>
        ))}
      </select>
      {variant !== undefined &&
        (readSchema(variant, root).kind === "object" ? (
          <div class="fields">
            <SchemaFields form={form} at={at} schema={variant} root={root} />
          </div>
        ) : (
          <SchemaField form={form} at={at} label="Value" schema={variant} root={root} isRequired />
        ))}
      <FieldFaults form={form} at={at} isShallow />
    </fieldset>
  );
}
