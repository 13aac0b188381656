// Form of a record: error summary, fields, and buttons.
import { Fragment, type ComponentChildren, type JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { ConnectionError } from "../api/client.ts";
import { Button, LinkButton } from "../components/button.tsx";
import { Notice } from "../components/notice.tsx";
import { reasonAgainst } from "../state/administrator.ts";
import type { Form } from "../state/form.ts";
import type { Conflict } from "../state/stored-form.ts";
import { ConflictNotice } from "./conflict-notice.tsx";
import { fieldId } from "./field.tsx";

interface RecordFormProps<T extends object> {
  readonly form: Form<T> & { readonly conflict?: Conflict | null };
  readonly onSubmit: () => void;
  readonly submit: string;
  /** Method and path that `onSubmit` calls. If the administrator may not call it, the fields are read-only. */
  readonly operation?: string | undefined;
  /** Console path that Cancel opens, or what it calls. */
  readonly cancel?: string | (() => void);
  readonly children: ComponentChildren;
  /** Returns the name of the record with this id, for the values of a conflict. */
  readonly nameOf?: ((id: string) => string | undefined) | undefined;
  /** Additional buttons, such as Delete. */
  readonly secondaryActions?: ComponentChildren;
}

export function RecordForm<T extends object>(props: RecordFormProps<T>): JSX.Element {
  const { form, onSubmit, submit, operation, cancel, children, secondaryActions, nameOf } = props;
  const reason = operation === undefined ? null : reasonAgainst(operation);
  if (reason !== null)
    return (
      <div class="record-form">
        <Notice kind="info">
          <p>You can read this, but not change it. {reason}</p>
        </Notice>
        <fieldset class="read-only" disabled>
          {children}
        </fieldset>
      </div>
    );
  return (
    <form
      class="record-form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        if (!form.isBusy) onSubmit();
      }}
    >
      {form.conflict === undefined || form.conflict === null ? (
        <ErrorSummary form={form} />
      ) : (
        <ConflictNotice conflict={form.conflict} nameOf={nameOf} isBusy={form.isBusy} save={onSubmit} />
      )}
      <Fragment key={form.resetCount}>{children}</Fragment>
      <div class="form-actions">
        <Button submit kind="primary" isBusy={form.isBusy}>
          {submit}
        </Button>
        {typeof cancel === "string" && <LinkButton to={cancel}>Cancel</LinkButton>}
        {typeof cancel === "function" && <Button onClick={cancel}>Cancel</Button>}
        {secondaryActions !== undefined && <div class="secondary">{secondaryActions}</div>}
      </div>
    </form>
  );
}

/** Lists all errors with links to their fields, which may be out of view in a long form. */
function ErrorSummary<T extends object>({ form }: { readonly form: Form<T> }): JSX.Element | null {
  const { error, details } = form;
  const box = useRef<HTMLDivElement>(null);
  // Move the focus in the same frame as the text appears, so that screen readers announce the summary.
  useLayoutEffect(() => {
    if (error !== null) box.current?.focus();
  }, [error]);
  if (error === null) return null;
  return (
    // The banner is the alert if the gateway does not respond. The summary gets the focus in any case.
    <div
      class="notice error"
      role={error instanceof ConnectionError ? "group" : "alert"}
      aria-label={error instanceof ConnectionError ? "Not saved" : undefined}
      tabIndex={-1}
      ref={box}
    >
      <div>
        {details.length === 0 ? (
          <p>{error.message}</p>
        ) : (
          <>
            <p>
              <strong>Fix these fields:</strong>
            </p>
            <ul>
              {details.map(({ path, message }) => (
                <li key={path + message}>
                  <a
                    href={`#${fieldId(path)}`}
                    onClick={(event) => {
                      event.preventDefault();
                      focusField(path);
                    }}
                  >
                    {path === "" ? "Record" : path}
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

/** Focuses the field at a path, or at the nearest enclosing path that has one. */
function focusField(path: string): void {
  for (let current = path; current !== ""; current = current.replace(/(\.[^.[\]]+|\[\d+\]|^[^.[\]]+)$/, "")) {
    const found = document.getElementById(fieldId(current));
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
