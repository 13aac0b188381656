// Shown when a record was changed after its form was opened: what was changed, and the ways out.
import type { JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { Button } from "../components/button.tsx";
import { Time } from "../components/format.tsx";
import type { Conflict } from "../state/stored-form.ts";

interface ConflictNoticeProps {
  readonly conflict: Conflict;
  /** Returns the name of the record with this id, as in `upstream_id`. */
  readonly nameOf?: ((id: string) => string | undefined) | undefined;
  readonly isBusy: boolean;
  readonly save: () => void;
}

export function ConflictNotice({ conflict, nameOf, isBusy, save }: ConflictNoticeProps): JSX.Element {
  const { changes, changedAt, loadTheirs, keepMine } = conflict;
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => box.current?.focus(), []);
  return (
    <div class="notice error conflict" role="alert" tabIndex={-1} ref={box}>
      <div>
        <p>
          <strong>
            This record was changed by someone else after you opened it
            {changedAt !== null && (
              <>
                {" "}
                (<Time at={changedAt} />)
              </>
            )}
            . Your changes are not saved.
          </strong>
        </p>
        {changes.length === 0 ? (
          <p>No field was changed to a value that differs from yours. Saving overwrites nothing.</p>
        ) : (
          <ChangeTable changes={changes} nameOf={nameOf} />
        )}
        <div class="actions">
          <Button
            onClick={() => {
              loadTheirs();
              document.querySelector<HTMLElement>("main h1")?.focus();
            }}
          >
            Load theirs
          </Button>
          <Button
            kind="danger"
            isBusy={isBusy}
            onClick={() => {
              keepMine();
              save();
            }}
          >
            Keep mine and save over it
          </Button>
        </div>
      </div>
    </div>
  );
}

function ChangeTable({ changes, nameOf }: Pick<ConflictNoticeProps, "nameOf"> & Pick<Conflict, "changes">) {
  return (
    <table aria-label="What was changed">
      <thead>
        <tr>
          <th scope="col">Field</th>
          <th scope="col">Theirs</th>
          <th scope="col">Yours</th>
        </tr>
      </thead>
      <tbody>
        {changes.map(({ path, theirs, mine, isChangedByMe }) => (
          <tr key={path}>
            <th scope="row">
              <code>{path}</code>
            </th>
            <td>{describe(theirs, nameOf)}</td>
            <td>
              {describe(mine, nameOf)}
              {!isChangedByMe && <span class="muted"> (as before)</span>}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function describe(value: unknown, nameOf: ConflictNoticeProps["nameOf"]): string {
  if (value === undefined || value === null || value === "") return "–";
  if (typeof value === "string") return nameOf?.(value) ?? value;
  if (Array.isArray(value) && value.every((each) => typeof each !== "object"))
    return value.length === 0 ? "–" : value.map((each) => describe(each, nameOf)).join(", ");
  return JSON.stringify(value);
}
