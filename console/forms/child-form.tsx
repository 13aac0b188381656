// Edit form of a record that belongs to a gateway: an upstream, a service, or a rule.
import type { ComponentChildren, JSX } from "preact";
import { collectionPath, saveChild, type ChildKind } from "../api/resources.ts";
import type { StoredForm } from "../state/stored-form.ts";
import { EditForm } from "./edit-form.tsx";

interface ChildFormProps<T extends object> {
  readonly gateway: string;
  readonly collection: ChildKind;
  /** Singular, as in “Create service”. */
  readonly kind: string;
  readonly form: StoredForm<T, { readonly id: string }>;
  /** Display name of the stored record; undefined for a new one. */
  readonly storedName: string | undefined;
  /** Display name as currently entered. */
  readonly name: string;
  /** Returns the name of the record with this id, for the values of a conflict. */
  readonly nameOf?: (id: string) => string | undefined;
  readonly children: ComponentChildren;
}

export function ChildForm<T extends object>(props: ChildFormProps<T>): JSX.Element {
  const { gateway, collection, form, storedName = "" } = props;
  const stored = form.base();
  return (
    <EditForm
      form={form}
      kind={props.kind}
      name={props.name}
      stored={
        stored === null
          ? null
          : {
              path: `${collectionPath(gateway, collection)}/${stored.data.id}`,
              name: storedName,
              id: stored.data.id,
            }
      }
      save={(value) => saveChild(gateway, collection, form.base(), value)}
      nameOf={props.nameOf}
      listPath={`/gateways/${gateway}/${collection}`}
      collection={collectionPath(gateway, collection)}
    >
      {props.children}
    </EditForm>
  );
}
