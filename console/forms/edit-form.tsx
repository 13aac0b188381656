// The form of a record's own page: saved and deleted there, and then back to the list.
import type { ComponentChildren, JSX } from "preact";
import { Button } from "../components/button.tsx";
import { confirmDelete } from "../state/delete.ts";
import { say } from "../state/dialogs.ts";
import type { Form } from "../state/form.ts";
import { go } from "../state/router.tsx";
import { RecordForm } from "./record-form.tsx";

export interface EditFormProps<T extends object> {
  readonly form: Form<T>;
  /** As in “Create service”. */
  readonly what: string;
  /** What people know the record by, as the form has it now. */
  readonly name: string;
  /** Where the record is in the API, and how it is called there; null for one that is yet to be made. */
  readonly stored: { readonly path: string; readonly name: string } | null;
  readonly save: (value: T) => Promise<void>;
  /** The page of the list. */
  readonly list: string;
  /** What else has to know before the list is shown again. */
  readonly onChange?: () => Promise<void>;
  readonly children: ComponentChildren;
}

export function EditForm<T extends object>(props: EditFormProps<T>): JSX.Element {
  const { form, what, name, stored, save, list, onChange, children } = props;
  const leave = async () => {
    await onChange?.();
    await go(list);
  };
  const submit = async () => {
    if (!(await form.submit(save))) return;
    say(`Saved the ${what} “${name}”.`);
    await leave();
  };
  const remove = async () => {
    if (stored !== null && (await confirmDelete({ what, ...stored }))) await leave();
  };
  return (
    <RecordForm
      form={form}
      onSubmit={() => void submit()}
      submit={stored === null ? `Create ${what}` : "Save"}
      cancel={list}
      extra={
        stored !== null && (
          <Button kind="danger" icon="remove" onClick={() => void remove()}>
            Delete
          </Button>
        )
      }
    >
      {children}
    </RecordForm>
  );
}
