// Renders form controls for a JSON Schema. Forms of built-in and custom plugins are generated this way.
import type { ComponentChildren, JSX } from "preact";
import { Button, IconButton } from "../components/button.tsx";
import { joinPath } from "../state/json-path.ts";
import { MapField } from "./collections.tsx";
import { FieldErrors, fieldId, FieldLabel, type FieldSource } from "./field.tsx";
import { CheckboxField, ChoiceField, MultiChoiceField, NumberField, TextField } from "./inputs.tsx";
import { FurtherFields } from "./further-fields.tsx";
import { JsonField } from "./json-field.tsx";
import {
  initialValue,
  interpretSchema,
  labelFor,
  matchesVariant,
  variantLabel,
  type JsonSchema,
} from "./json-schema.ts";
import { formatDefault, hintWithRange, toChoices } from "./schema-texts.ts";

interface SchemaFieldProps {
  readonly form: FieldSource;
  readonly path: string;
  readonly label: string;
  readonly schema: JsonSchema;
  /** The complete schema, to resolve references. */
  readonly root: JsonSchema;
  readonly isRequired?: boolean;
}

/** The fields of an object, without a frame. */
export function SchemaFields({ form, path, schema, root }: Omit<SchemaFieldProps, "label">): JSX.Element {
  const { properties = {}, required = [], additionalProperties } = interpretSchema(schema, root).schema;
  return (
    <>
      {Object.entries(properties).map(([name, field]) => (
        <SchemaField
          key={name}
          form={form}
          path={joinPath(path, name)}
          label={labelFor(name, field)}
          schema={field}
          root={root}
          isRequired={required.includes(name)}
        />
      ))}
      {typeof additionalProperties === "object" && Object.keys(additionalProperties).length > 0 && (
        <FurtherFields
          form={form}
          path={path}
          known={Object.keys(properties)}
          schema={additionalProperties}
          root={root}
          render={(field) => <SchemaField key={field.path} form={form} root={root} isRequired {...field} />}
        />
      )}
    </>
  );
}

function SchemaField(props: SchemaFieldProps): JSX.Element | null {
  const { form, path, label, root, isRequired = false } = props;
  const { kind, schema, isNullable } = interpretSchema(props.schema, root);
  const field = { form, path, label, hint: schema.description, isRequired };
  const choices = (values: readonly unknown[]) =>
    toChoices(values, { isRequired, isNullable, defaultValue: schema.default });
  switch (kind) {
    case "constant":
      return <ChoiceField {...field} choices={choices([schema.const])} />;
    case "choice":
      return <ChoiceField {...field} choices={choices(schema.enum ?? [])} />;
    case "boolean":
      // A checkbox has two states. A boolean that may also be null or missing needs a third one.
      return isNullable || (!isRequired && schema.default === undefined) ? (
        <ChoiceField {...field} choices={choices([true, false])} />
      ) : (
        <CheckboxField {...field} defaultValue={schema.default === true} />
      );
    case "number":
      return (
        <NumberField
          {...field}
          hint={hintWithRange(schema)}
          placeholder={formatDefault(schema.default)}
          emptyValue={undefined}
        />
      );
    case "text":
      return <TextField {...field} placeholder={formatDefault(schema.default)} emptyValue={undefined} />;
    case "multi-choice": {
      const items = interpretSchema(schema.items ?? {}, root).schema.enum ?? [];
      return (
        <MultiChoiceField
          {...field}
          {...(!isRequired && { emptyValue: undefined })}
          choices={items.map((value) => ({ value: String(value), label: labelFor(String(value), {}) }))}
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

interface FieldBoxProps {
  readonly form: FieldSource;
  readonly path: string;
  readonly legend: ComponentChildren;
  readonly schema: JsonSchema;
  readonly children: ComponentChildren;
}

/** Frame of a field that contains other fields. */
function FieldBox({ form, path, legend, schema, children }: FieldBoxProps): JSX.Element {
  return (
    <fieldset class="field field-box" id={fieldId(path)}>
      <legend>{legend}</legend>
      {schema.description !== undefined && <p class="hint">{schema.description}</p>}
      {children}
      <FieldErrors form={form} path={path} isShallow />
    </fieldset>
  );
}

/** An object. An optional one has a checkbox that adds it. */
function ObjectField({ form, path, label, schema, root, isRequired = false }: SchemaFieldProps): JSX.Element {
  const value = form.get(path);
  const isPresent = typeof value === "object" && value !== null;
  const isOptional = !isRequired && schema.default === undefined;
  const toggle = (isChecked: boolean) => form.set(path, isChecked ? initialValue(schema, root) : undefined);
  const checkbox = (
    <label class="check">
      <input type="checkbox" checked={isPresent} onChange={(event) => toggle(event.currentTarget.checked)} />
      <span>{label}</span>
    </label>
  );
  return (
    <FieldBox form={form} path={path} legend={isOptional ? checkbox : label} schema={schema}>
      {(isPresent || !isOptional) && (
        <div class={isFlat(schema, root) ? "fields inline" : "fields"}>
          <SchemaFields form={form} path={path} schema={schema} root={root} />
        </div>
      )}
    </FieldBox>
  );
}

/** Whether an object has up to three simple fields, which fit in one row. */
function isFlat({ properties = {} }: JsonSchema, root: JsonSchema): boolean {
  const fields = Object.values(properties);
  const simpleKinds = ["choice", "boolean", "number", "text", "constant"];
  return (
    fields.length <= 3 && fields.every((field) => simpleKinds.includes(interpretSchema(field, root).kind))
  );
}

function ListField({ form, path, label, schema, root, isRequired = false }: SchemaFieldProps): JSX.Element {
  const value = form.get(path);
  const items: readonly unknown[] = Array.isArray(value) ? value : [];
  const item = interpretSchema(schema.items ?? {}, root);
  const add = () =>
    form.set(path, [...items, initialValue(item.schema, root) ?? (item.kind === "text" ? "" : null)]);
  const remove = (index: number) =>
    form.set(
      path,
      items.filter((_, each) => each !== index),
    );
  return (
    <FieldBox
      form={form}
      path={path}
      legend={<FieldLabel label={label} isRequired={isRequired} />}
      schema={schema}
    >
      {items.map((_, index) => (
        <div class="list-item" key={index}>
          <div class="fields inline">
            <SchemaValue
              form={form}
              path={joinPath(path, index)}
              label={`${label} ${index + 1}`}
              schema={item.schema}
              root={root}
            />
          </div>
          <IconButton
            icon="remove"
            label={`Remove ${label.toLowerCase()} ${index + 1}`}
            onClick={() => remove(index)}
          />
        </div>
      ))}
      <Button icon="add" label={`Add to ${label.toLowerCase()}`} onClick={add}>
        Add
      </Button>
    </FieldBox>
  );
}

function VariantField({
  form,
  path,
  label,
  schema,
  root,
  isRequired = false,
}: SchemaFieldProps): JSX.Element {
  const variants = schema.anyOf ?? schema.oneOf ?? [];
  const value = form.get(path);
  const selected =
    value === undefined ? -1 : variants.findIndex((variant) => matchesVariant(value, variant, root));
  const variant = variants[selected];
  const select = (next: JsonSchema | undefined) =>
    form.set(
      path,
      next === undefined ? undefined : (initialValue(next, root) ?? (next.type === "string" ? "" : null)),
    );
  return (
    <FieldBox
      form={form}
      path={path}
      legend={<FieldLabel label={label} isRequired={isRequired} />}
      schema={schema}
    >
      <select
        class="input"
        aria-label={`Type of ${label.toLowerCase()}`}
        value={String(selected)}
        onChange={(event) => select(variants[Number(event.currentTarget.value)])}
      >
        <option value="-1">Not set</option>
        {variants.map((each, index) => (
          <option key={index} value={String(index)}>
            {variantLabel(interpretSchema(each, root).schema, index)}
          </option>
        ))}
      </select>
      {variant !== undefined && (
        <div class="fields">
          <SchemaValue form={form} path={path} label="Value" schema={variant} root={root} />
        </div>
      )}
    </FieldBox>
  );
}

/** A value inside a frame: the fields of an object, or a single control. */
function SchemaValue(props: SchemaFieldProps): JSX.Element {
  const isObject = interpretSchema(props.schema, props.root).kind === "object";
  return isObject ? <SchemaFields {...props} /> : <SchemaField {...props} isRequired />;
}
