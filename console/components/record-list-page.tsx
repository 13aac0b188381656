// Page with the list of a gateway's records of one kind: links to their forms, copies, and one action that deletes several.
import type { ComponentChildren, JSX } from "preact";
import { call } from "../api/client.ts";
import { listPage } from "../api/resources.ts";
import type { BulkAction } from "../state/bulk.ts";
import { activeRevision } from "../state/connection.ts";
import { Link } from "../state/router.tsx";
import { LinkButton } from "./button.tsx";
import { DuplicateLink } from "./duplicate.tsx";
import { Time } from "./format.tsx";
import type { ListColumn } from "./list-tools.tsx";
import { Empty } from "./notice.tsx";
import { Page } from "./page.tsx";
import { RecordList } from "./record-list.tsx";

interface ListedRecord {
  readonly id: string;
  readonly name: string;
}

interface RecordListPageProps<Stored extends ListedRecord, Row extends Stored> {
  readonly title: string;
  readonly description: string;
  /** As in "virtual model". The plural ends in "s". */
  readonly singular: string;
  /** Console path of the list. */
  readonly base: string;
  /** API path of the list, and the field of its response that has the records. */
  readonly path: string;
  readonly field: string;
  /** Further parameters of the list. */
  readonly filter?: Readonly<Record<string, string>>;
  /** Adds what the columns show besides the record. */
  readonly complete: (
    records: readonly Stored[],
    signal: AbortSignal,
  ) => Promise<readonly Row[]> | readonly Row[];
  /** Those between the name and the copy. */
  readonly columns: readonly ListColumn<Row>[];
  readonly isMono?: boolean;
  readonly isWide?: boolean;
  readonly isDimmed?: (row: Row) => boolean;
  /** What "Delete" of several records says. */
  readonly removal: Pick<BulkAction<Row>, "text"> &
    Partial<Pick<BulkAction<Row>, "verb" | "done" | "appliesTo">>;
  /** Shown if there are no records: what they are for, or a whole notice. */
  readonly empty: ComponentChildren;
}

export function RecordListPage<Stored extends ListedRecord, Row extends Stored>(
  props: RecordListPageProps<Stored, Row>,
): JSX.Element {
  const {
    title,
    description,
    singular,
    base,
    path,
    field,
    filter,
    complete,
    columns,
    isMono = false,
  } = props;
  const what = `${singular}s`;
  const create = (
    <LinkButton to={`${base}/new`} kind="primary" icon="add">
      New {singular}
    </LinkButton>
  );
  return (
    <Page
      title={title}
      description={description}
      actions={create}
      {...(props.isWide !== undefined && { isWide: props.isWide })}
    >
      <RecordList<Row>
        what={what}
        label={title}
        load={async (query, signal) => {
          const { rows, count } = await listPage<Stored>(path, field, { ...query, ...filter }, signal);
          return { rows: await complete(rows, signal), count };
        }}
        dependencies={[activeRevision.value]}
        keyOf={({ id }) => id}
        nameOf={({ name }) => name}
        {...(props.isDimmed !== undefined && { isDimmed: props.isDimmed })}
        columns={[
          {
            title: "Name",
            kind: "main",
            sort: "name",
            cell: ({ id, name }) => (
              <Link to={`${base}/${id}`} {...(isMono && { class: "mono" })}>
                {name}
              </Link>
            ),
          },
          ...columns,
          {
            title: "Actions",
            kind: "actions",
            cell: ({ id, name }) => <DuplicateLink to={`${base}/new`} id={id} name={name} />,
          },
        ]}
        actions={[
          {
            verb: "Delete",
            done: "Deleted",
            ...props.removal,
            operation: `DELETE ${path}/one`,
            isDangerous: true,
            run: ({ id }) => call("DELETE", `${path}/${id}`),
          },
        ]}
        empty={
          typeof props.empty === "string" ? (
            <Empty title={`No ${what} yet`} action={create}>
              {props.empty}
            </Empty>
          ) : (
            props.empty
          )
        }
      />
    </Page>
  );
}

/** When a record was changed last. */
export const UPDATED: ListColumn<{ readonly updated_at: string }> = {
  title: "Updated",
  sort: "updated_at",
  cell: ({ updated_at }) => <Time at={updated_at} />,
};
