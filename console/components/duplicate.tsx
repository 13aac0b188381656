// Links that open a form for a new record with the values of another one.
import type { JSX } from "preact";
import { mayCall, operationOfPath } from "../state/administrator.ts";
import { Link } from "../state/router.tsx";
import { LinkButton } from "./button.tsx";
import { Icon } from "./icon.tsx";

interface DuplicateProps {
  /** Console path of the form for a new record. */
  readonly to: string;
  /** Id of the record to copy. */
  readonly id: string;
}

export function DuplicateButton({ to, id }: DuplicateProps): JSX.Element {
  return (
    <LinkButton to={`${to}?copy=${id}`} icon="copy">
      Duplicate
    </LinkButton>
  );
}

/** For a row of a list. It is hidden if the administrator may not create such a record. */
export function DuplicateLink({
  to,
  id,
  name,
}: DuplicateProps & { readonly name: string }): JSX.Element | null {
  const operation = operationOfPath(to);
  if (operation !== null && !mayCall(operation)) return null;
  return (
    <Link to={`${to}?copy=${id}`} class="button quiet icon-only" label={`Duplicate ${name}`}>
      <Icon name="copy" />
    </Link>
  );
}
