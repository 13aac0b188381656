// The form around a record: what went wrong at the top, the fields, and the buttons at the end.
import type { ComponentChildren, JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { Button, LinkButton } from "../components/button.tsx";
import type { Form } from "../state/form.ts";
import { idOf } from "./field.tsx";

export interface RecordFormProps<T extends object> {
  readonly form: Form<T>;
  readonly onSubmit: () => void;
  readonly submit: string;
  /** Where Cancel leads. */
  readonly cancel?: string;
  readonly children: ComponentChildren;
  /** More buttons, as for deleting. */
  readonly extra?: ComponentChildren;
}

export function RecordForm<T extends object>(props: RecordFormProps<T>): JSX.Element {
  const { form, onSubmit, submit, cancel, children, extra } = props;
  return (
    <form
      class="record-form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        if (!form.isBusy) onSubmit();
      }}
    >
      <FaultSummary form={form} />
      {children}
      <div class="form-end">
        <Button submit kind="primary" isBusy={form.isBusy}>
          {submit}
        </Button>
        {cancel !== undefined && <LinkButton to={cancel}>Cancel</LinkButton>}
        {extra !== undefined && <div class="extra">{extra}</div>}
      </div>
    </form>
  );
}

/** All that is wrong in one place, each a way to its field: a long form hides its faults otherwise. */
function FaultSummary<T extends object>({ form }: { readonly form: Form<T> }): JSX.Element | null {
  const { fault, details } = form;
  const box = useRef<HTMLDivElement>(null);
  // With the text, not after it: whoever reads the one is at the other.
  useLayoutEffect(() => {
    if (fault !== null) box.current?.focus();
  }, [fault]);
  if (fault === null) return null;
  return (
    <div class="notice fault" role="alert" tabIndex={-1} ref={box}>
      <div>
        {details.length === 0 ? (
          <p>{fault.message}</p>
        ) : (
          <>
            <p>
              <strong>Not saved.</strong>
            </p>
            <ul>
              {details.map(({ path, message }) => (
                <li key={path + message}>
                  <a
                    href={`#${idOf(path)}`}
                    onClick={(event) => {
                      event.preventDefault();
                      focusField(path);
                    }}
                  >
                    {path === "" ? "This record" : path}
                  </a>
                  : {message}
                </li>
              ))}
            </ul>
          </>
        )}
      </div>
    </div>
  );
}

/** The field of a place, or of the nearest place around it. */
function focusField(path: string): void {
  for (let place = path; place !== ""; place = place.replace(/(\.[^.[\]]+|\[\d+\]|^[^.[\]]+)$/, "")) {
    const found = document.getElementById(idOf(place));
    if (found === null) continue;
    found.closest("details")?.setAttribute("open", "");
    found.scrollIntoView({ block: "center" });
    const control = found.matches("input, select, textarea")
      ? found
      : found.querySelector("input, select, textarea");
    if (control instanceof HTMLElement) control.focus();
    return;
  }
}
