// The frame of every field: label, hint, and the API's own words beside it when it refused the value.
import type { ComponentChildren, JSX } from "preact";

/** What a field is bound to: a form, or a part of one. */
export interface FieldSource {
  get(path: string): unknown;
  set(path: string, value: unknown): void;
  faultsAt(path: string, deep?: boolean): readonly string[];
}

export interface FieldProps {
  readonly form: FieldSource;
  /** The place in the record, as the API writes it: `targets[0].weight`. */
  readonly at: string;
  readonly label: string;
  readonly hint?: ComponentChildren;
  readonly isRequired?: boolean;
}

export interface ControlProps {
  readonly id: string;
  readonly "aria-invalid": boolean;
  readonly "aria-describedby": string | undefined;
}

export function idOf(path: string): string {
  return `field-${path.replaceAll(/[^\w-]+/g, "-")}`;
}

export function controlProps({ form, at, hint }: FieldProps): ControlProps {
  const isInvalid = form.faultsAt(at).length > 0;
  const id = idOf(at);
  const described = [hint !== undefined ? `${id}-hint` : "", isInvalid ? `${id}-fault` : ""].filter(Boolean);
  return {
    id,
    "aria-invalid": isInvalid,
    "aria-describedby": described.length > 0 ? described.join(" ") : undefined,
  };
}

export function Field(props: FieldProps & { readonly children: ComponentChildren }): JSX.Element {
  const { form, at, label, hint, isRequired = false, children } = props;
  const id = idOf(at);
  const isInvalid = form.faultsAt(at).length > 0;
  return (
    <div class={isInvalid ? "field invalid" : "field"}>
      <label for={id}>
        {label}
        {isRequired && <span class="required"> required</span>}
      </label>
      {children}
      {hint !== undefined && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      <FieldFaults form={form} at={at} />
    </div>
  );
}

/** The same frame for several controls under one name. */
export function FieldGroup(props: FieldProps & { readonly children: ComponentChildren }): JSX.Element {
  const { form, at, label, hint, isRequired = false, children } = props;
  const isInvalid = form.faultsAt(at, false).length > 0;
  return (
    <fieldset class={isInvalid ? "field invalid" : "field"} id={idOf(at)}>
      <legend>
        {label}
        {isRequired && <span class="required"> required</span>}
      </legend>
      {hint !== undefined && <p class="hint">{hint}</p>}
      {children}
      <FieldFaults form={form} at={at} isShallow />
    </fieldset>
  );
}

export function FieldFaults(props: {
  form: FieldSource;
  at: string;
  isShallow?: boolean;
}): JSX.Element | null {
  const { form, at, isShallow = false } = props;
  const problems = form.faultsAt(at, !isShallow);
  if (problems.length === 0) return null;
  return (
    <p class="fault" id={`${idOf(at)}-fault`}>
      {problems.join("; ")}
    </p>
  );
}
