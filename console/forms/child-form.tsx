// Edit form of a record that belongs to a gateway: an upstream, a service, or a rule.
import type { ComponentChildren, JSX } from "preact";
import type { ApiResponse } from "../api/client.ts";
import { collectionPath, saveChild, type ChildKind } from "../api/resources.ts";
import type { Form } from "../state/form.ts";
import { EditForm } from "./edit-form.tsx";

interface ChildFormProps<T extends object> {
  readonly gateway: string;
  readonly collection: ChildKind;
  /** Singular, as in “Create service”. */
  readonly kind: string;
  /** The record as it was read; null for a new one. */
  readonly before: ApiResponse<{ readonly id: string }> | null;
  readonly form: Form<T>;
  /** Display name of the stored record; undefined for a new one. */
  readonly storedName: string | undefined;
  /** Display name as currently entered. */
  readonly name: string;
  readonly children: ComponentChildren;
}

export function ChildForm<T extends object>(props: ChildFormProps<T>): JSX.Element {
  const { gateway, collection, before, storedName = "" } = props;
  return (
    <EditForm
      form={props.form}
      kind={props.kind}
      name={props.name}
      stored={
        before === null
          ? null
          : { path: `${collectionPath(gateway, collection)}/${before.data.id}`, name: storedName }
      }
      save={(value) => saveChild(gateway, collection, before, value)}
      listPath={`/gateways/${gateway}/${collection}`}
      collection={collectionPath(gateway, collection)}
    >
      {props.children}
    </EditForm>
  );
}
