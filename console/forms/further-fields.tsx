// Controls for the fields of an object whose names are not in its schema, such as limits by label.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Button, IconButton } from "../components/button.tsx";
import { joinPath } from "../state/json-path.ts";
import { fieldId, type FieldSource } from "./field.tsx";
import { initialValue, type JsonSchema } from "./json-schema.ts";

interface FurtherFieldsProps {
  readonly form: FieldSource;
  /** Path of the object. */
  readonly path: string;
  /** Names of the fields that have controls of their own. */
  readonly known: readonly string[];
  /** Of the other fields. */
  readonly schema: JsonSchema;
  /** The complete schema, to resolve references. */
  readonly root: JsonSchema;
  readonly render: (field: {
    readonly path: string;
    readonly label: string;
    readonly schema: JsonSchema;
  }) => JSX.Element;
}

/** These fields, and a control that adds one. */
export function FurtherFields({ form, path, known, schema, root, render }: FurtherFieldsProps): JSX.Element {
  const [name, setName] = useState("");
  const { title = "Field", description, "x-name-prefix": prefix = "", ...field } = schema;
  const value = form.get(path);
  const names = Object.keys(typeof value === "object" && value !== null ? value : {});
  const added = prefix + name.trim();
  // A path cannot name a field with these characters.
  const isValid =
    name.trim() !== "" && !/[.[\]]/.test(name) && !names.includes(added) && !known.includes(added);
  const add = () => {
    if (!isValid) return;
    form.set(joinPath(path, added), initialValue(field, root) ?? "");
    setName("");
  };
  return (
    <>
      {names
        .filter((each) => !known.includes(each))
        .map((each) => (
          <div class="list-item" key={each}>
            <div class="fields inline">
              {render({
                path: joinPath(path, each),
                label: `${title} ${each.startsWith(prefix) ? each.slice(prefix.length) : each}`,
                schema: field,
              })}
            </div>
            <IconButton
              icon="remove"
              label={`Remove ${each}`}
              onClick={() => form.set(joinPath(path, each), undefined)}
            />
          </div>
        ))}
      <div class="field">
        <label for={`${fieldId(path)}-added`}>{title}</label>
        <div class="map-row">
          <input
            id={`${fieldId(path)}-added`}
            class="input mono"
            autocomplete="off"
            spellcheck={false}
            value={name}
            aria-describedby={description === undefined ? undefined : `${fieldId(path)}-added-hint`}
            onInput={(event) => setName(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key !== "Enter") return;
              event.preventDefault();
              add();
            }}
          />
          <Button icon="add" isDisabled={!isValid} onClick={add}>
            Add {title.toLowerCase()}
          </Button>
        </div>
        {description !== undefined && (
          <p class="hint" id={`${fieldId(path)}-added-hint`}>
            {description}
          </p>
        )}
      </div>
    </>
  );
}
