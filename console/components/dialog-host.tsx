// Shows the questions and messages of state/dialogs.ts.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { ApiError } from "../api/client.ts";
import { messages, question, type OpenQuestion } from "../state/dialogs.ts";
import { Button } from "./button.tsx";
import { Dialog } from "./dialog.tsx";
import { Icon } from "./icon.tsx";
import { Notice } from "./notice.tsx";

export function DialogHost(): JSX.Element {
  const open = question.value;
  return (
    <>
      {open !== null && <QuestionDialog key={open.title} asked={open} />}
      <div class="messages" role="status" aria-live="polite">
        {messages.value.map(({ id, text }) => (
          <p key={id} class="message">
            <Icon name="done" /> {text}
          </p>
        ))}
      </div>
    </>
  );
}

function QuestionDialog({ asked }: { readonly asked: OpenQuestion }): JSX.Element {
  const [fault, setFault] = useState<Error | null>(null);
  const [isBusy, setBusy] = useState(false);
  const [typed, setTyped] = useState("");
  const stronger = fault === null ? null : (asked.after?.(fault) ?? null);
  const offered = stronger ?? asked;
  const mayConfirm = offered.typed === undefined || typed === offered.typed;

  const confirm = async () => {
    if (offered.action === undefined) {
      asked.answer(true);
      return;
    }
    setBusy(true);
    try {
      await offered.action();
      asked.answer(true);
    } catch (error) {
      setFault(error instanceof Error ? error : new Error(String(error)));
      setBusy(false);
    }
  };
  const isRefused = fault !== null && stronger === null;

  return (
    <Dialog title={offered.title} onClose={() => asked.answer(false)}>
      <form
        method="dialog"
        onSubmit={(event) => {
          event.preventDefault();
          if (mayConfirm) void confirm();
        }}
      >
        {fault !== null && <Fault fault={fault} />}
        <p>{offered.text}</p>
        {offered.typed !== undefined && (
          <div class="field">
            <label for="typed">
              Type <strong>{offered.typed}</strong> to go on
            </label>
            <input
              id="typed"
              class="input"
              autocomplete="off"
              value={typed}
              onInput={(event) => setTyped(event.currentTarget.value)}
            />
          </div>
        )}
        <div class="actions end">
          <Button onClick={() => asked.answer(false)}>{isRefused ? "Close" : "Cancel"}</Button>
          <Button
            submit
            kind={offered.isDangerous === true ? "danger" : "primary"}
            isBusy={isBusy}
            isDisabled={!mayConfirm}
          >
            {isRefused ? "Try again" : offered.confirm}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

/** Where the API names what stands in the way, the names stand in a list. */
function Fault({ fault }: { readonly fault: Error }): JSX.Element {
  const users = fault instanceof ApiError && fault.code === "in_use" ? fault.details : [];
  return (
    <Notice kind="fault">
      {users.length === 0 ? (
        <p>{fault.message}</p>
      ) : (
        <>
          <p>It is in use. Delete or change these first:</p>
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
