// Renders the confirmation dialog and the toasts of state/dialogs.ts.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { ApiError, toError } from "../api/client.ts";
import { PartialFailure } from "../state/bulk.ts";
import { toasts, openConfirmation, type OpenConfirmation } from "../state/dialogs.ts";
import { Button } from "./button.tsx";
import { Dialog } from "./dialog.tsx";
import { Icon } from "./icon.tsx";
import { Notice } from "./notice.tsx";

export function DialogHost(): JSX.Element {
  const open = openConfirmation.value;
  return (
    <>
      {open !== null && <ConfirmationDialog key={open.title} confirmation={open} />}
      <div class="toasts" role="status" aria-live="polite">
        {toasts.value.map(({ id, text, kind }) => (
          <p key={id} class="toast">
            <Icon name={kind === "done" ? "done" : "warning"} /> {text}
          </p>
        ))}
      </div>
    </>
  );
}

function ConfirmationDialog({ confirmation }: { readonly confirmation: OpenConfirmation }): JSX.Element {
  const [error, setError] = useState<Error | null>(null);
  const [isBusy, setBusy] = useState(false);
  const [typed, setTyped] = useState("");
  const escalated = error === null ? null : (confirmation.escalate?.(error) ?? null);
  const current = escalated ?? confirmation;
  const mayConfirm = current.requiredText === undefined || typed === current.requiredText;

  const confirm = async () => {
    if (current.action === undefined) {
      confirmation.close(true);
      return;
    }
    setBusy(true);
    try {
      await current.action();
      confirmation.close(true);
    } catch (thrown) {
      setError(toError(thrown));
      setBusy(false);
    }
  };
  const hasFailed = error !== null && escalated === null;

  return (
    <Dialog title={current.title} onClose={() => confirmation.close(false)}>
      <form
        method="dialog"
        onSubmit={(event) => {
          event.preventDefault();
          if (mayConfirm) void confirm();
        }}
      >
        {error !== null && <ActionError error={error} />}
        <p>{current.text}</p>
        {current.requiredText !== undefined && (
          <RequiredTextField requiredText={current.requiredText} value={typed} onInput={setTyped} />
        )}
        <div class="actions end">
          <Button onClick={() => confirmation.close(false)}>{hasFailed ? "Close" : "Cancel"}</Button>
          <Button
            submit
            kind={current.isDangerous === true ? "danger" : "primary"}
            isBusy={isBusy}
            isDisabled={!mayConfirm}
          >
            {hasFailed ? "Retry" : current.confirm}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

interface RequiredTextFieldProps {
  readonly requiredText: string;
  readonly value: string;
  readonly onInput: (value: string) => void;
}

function RequiredTextField({ requiredText, value, onInput }: RequiredTextFieldProps): JSX.Element {
  return (
    <div class="field">
      <label for="required-text">
        Type <strong>{requiredText}</strong> to confirm
      </label>
      <input
        id="required-text"
        class="input"
        autocomplete="off"
        value={value}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
    </div>
  );
}

/** Shows why the action failed. For `in_use` it lists the records that refer to this one. */
function ActionError({ error }: { readonly error: Error }): JSX.Element {
  if (error instanceof PartialFailure)
    return (
      <Notice kind="error">
        <p>{error.message}</p>
        {/* Long lists scroll, also with the keyboard. */}
        <ul class="failures" tabIndex={0} aria-label="Failed">
          {error.failures.map((failure) => (
            <li key={failure}>{failure}</li>
          ))}
        </ul>
      </Notice>
    );
  const users = error instanceof ApiError && error.code === "in_use" ? error.details : [];
  return (
    <Notice kind="error">
      {users.length === 0 ? (
        <p>{error.message}</p>
      ) : (
        <>
          <p>This record is in use. Delete or change these first:</p>
          <ul>
            {users.map(({ message }) => (
              <li key={message}>{message}</li>
            ))}
          </ul>
        </>
      )}
    </Notice>
  );
}
