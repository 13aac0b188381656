// Form of a record page with save and delete. Both return to the list, or to what contains the form.
import type { ComponentChildren, JSX } from "preact";
import { useContext } from "preact/hooks";
import { Button } from "../components/button.tsx";
import { DuplicateButton } from "../components/duplicate.tsx";
import { confirmDelete } from "../state/delete.ts";
import { showToast } from "../state/dialogs.ts";
import { navigate } from "../state/router.tsx";
import { showSaveWarnings, type Warning } from "../state/save-warnings.ts";
import type { StoredForm } from "../state/stored-form.ts";
import { FormHost } from "./form-host.ts";
import { RecordForm } from "./record-form.tsx";

interface EditFormProps<T extends object> {
  readonly form: StoredForm<T, unknown>;
  /** Singular, as in “Create service”. */
  readonly kind: string;
  /** The record's display name as currently entered. */
  readonly name: string;
  /** API path, display name, and id of the stored record; null for a new one. */
  readonly stored: { readonly path: string; readonly name: string; readonly id: string } | null;
  /** Resolves to the warnings of the API about the saved record. */
  readonly save: (value: T) => Promise<readonly Warning[]>;
  /** Console path of the list page. */
  readonly listPath: string;
  /** API path of the list, for a new record. */
  readonly collection: string;
  /** Runs after a change, before the list is shown. */
  readonly onChange?: () => Promise<void>;
  readonly nameOf?: ((id: string) => string | undefined) | undefined;
  readonly children: ComponentChildren;
}

export function EditForm<T extends object>(props: EditFormProps<T>): JSX.Element {
  const { form, kind, name, stored, save, listPath, collection, onChange, children, nameOf } = props;
  const host = useContext(FormHost);
  const returnToList = async () => {
    await onChange?.();
    if (host === null) await navigate(listPath);
    else host.onDone();
  };
  const submit = async () => {
    let warnings: readonly Warning[] = [];
    if (!(await form.submit(async (value) => (warnings = await save(value))))) return;
    showToast(`Saved ${kind} “${name}”.`);
    await returnToList();
    showSaveWarnings(`${kind} “${name}”`, warnings);
  };
  const deleteRecord = async () => {
    if (stored !== null && (await confirmDelete({ kind, ...stored }))) await returnToList();
  };
  return (
    <RecordForm
      form={form}
      onSubmit={() => void submit()}
      operation={stored === null ? `POST ${collection}` : `PUT ${stored.path}`}
      submit={stored === null ? `Create ${kind}` : "Save"}
      cancel={host === null ? listPath : host.onCancel}
      nameOf={nameOf}
      secondaryActions={
        stored !== null && (
          <>
            {host === null && <DuplicateButton to={`${listPath}/new`} id={stored.id} />}
            <Button kind="danger" icon="remove" onClick={() => void deleteRecord()}>
              Delete
            </Button>
          </>
        )
      }
    >
      {children}
    </RecordForm>
  );
}
