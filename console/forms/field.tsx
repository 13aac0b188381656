// Frame of every form field: label, hint, and the API's error message.
import type { ComponentChildren, JSX } from "preact";

/** The part of a form that a field needs. */
export interface FieldSource {
  get(path: string): unknown;
  set(path: string, value: unknown): void;
  errorsAt(path: string, deep?: boolean): readonly string[];
}

export interface FieldProps {
  readonly form: FieldSource;
  /** Path in the record in the API's notation: `targets[0].weight`. */
  readonly path: string;
  readonly label: string;
  readonly hint?: ComponentChildren;
  readonly isRequired?: boolean;
}

interface ControlProps {
  readonly id: string;
  readonly "aria-invalid": boolean;
  readonly "aria-describedby": string | undefined;
}

export function fieldId(path: string): string {
  return `field-${path.replaceAll(/[^\w-]+/g, "-")}`;
}

/** Moves the focus to a field, also if it appears only with the next rendering. */
export function focusField(path: string): void {
  requestAnimationFrame(() => document.getElementById(fieldId(path))?.focus());
}

export function controlProps({ form, path, hint }: FieldProps): ControlProps {
  const isInvalid = form.errorsAt(path).length > 0;
  const id = fieldId(path);
  const described = [hint !== undefined ? `${id}-hint` : "", isInvalid ? `${id}-error` : ""].filter(Boolean);
  return {
    id,
    "aria-invalid": isInvalid,
    "aria-describedby": described.length > 0 ? described.join(" ") : undefined,
  };
}

export function Field(props: FieldProps & { readonly children: ComponentChildren }): JSX.Element {
  const { form, path, label, hint, isRequired = false, children } = props;
  const id = fieldId(path);
  const isInvalid = form.errorsAt(path).length > 0;
  return (
    <div class={isInvalid ? "field invalid" : "field"}>
      <label for={id}>
        <FieldLabel label={label} isRequired={isRequired} />
      </label>
      {children}
      {hint !== undefined && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      <FieldErrors form={form} path={path} />
    </div>
  );
}

export function FieldLabel(props: { readonly label: string; readonly isRequired?: boolean }): JSX.Element {
  const { label, isRequired = false } = props;
  return (
    <>
      {label}
      {isRequired && <span class="required"> required</span>}
    </>
  );
}

interface FieldGroupProps extends FieldProps {
  /** The controls show no errors themselves, so the frame shows those of the paths below as well. */
  readonly showsAllErrors?: boolean;
  readonly children: ComponentChildren;
}

/** The same frame for a group of controls with a common label. */
export function FieldGroup(props: FieldGroupProps): JSX.Element {
  const { form, path, label, hint, isRequired = false, showsAllErrors = false, children } = props;
  const isInvalid = form.errorsAt(path, showsAllErrors).length > 0;
  return (
    <fieldset class={isInvalid ? "field invalid" : "field"} id={fieldId(path)}>
      <legend>
        <FieldLabel label={label} isRequired={isRequired} />
      </legend>
      {hint !== undefined && <p class="hint">{hint}</p>}
      {children}
      <FieldErrors form={form} path={path} isShallow={!showsAllErrors} />
    </fieldset>
  );
}

export function FieldErrors(props: {
  form: FieldSource;
  path: string;
  isShallow?: boolean;
}): JSX.Element | null {
  const { form, path, isShallow = false } = props;
  const errors = form.errorsAt(path, !isShallow);
  if (errors.length === 0) return null;
  return (
    <p class="error" id={`${fieldId(path)}-error`}>
      {errors.join("; ")}
    </p>
  );
}
