// Filters of the request log.
import type { JSX } from "preact";
import { listChildren, listKeys } from "../api/resources.ts";
import { Button } from "../components/button.tsx";
import { formatClock } from "../components/format.tsx";
import { OUTCOMES } from "../components/labels.ts";
import { useLoad } from "../state/load.ts";
import { replaceSearch } from "../state/router.tsx";
import { Filter } from "./filter.tsx";

/** Query parameters of the page and of the API. */
export const FILTER_NAMES = [
  "status",
  "outcome",
  "error_code",
  "rule_id",
  "api_key_id",
  "provider",
  "model",
  "tool",
  "request_id",
  "since",
  "until",
];

const STATUSES = [
  ["2xx", "2xx success"],
  ["4xx", "4xx rejected"],
  ["429", "429 rate limited"],
  ["5xx", "5xx failed"],
] as const;

interface RequestFiltersProps {
  readonly gateway: string;
  readonly filters: Readonly<Record<string, string>>;
  readonly onlyFailovers: boolean;
  readonly onOnlyFailovers: (isOn: boolean) => void;
}

export function RequestFilters(props: RequestFiltersProps): JSX.Element {
  const { gateway, filters, onlyFailovers, onOnlyFailovers } = props;
  const { data } = useLoad(async (signal) => {
    const [rules, keys] = await Promise.all([
      listChildren(gateway, "rules", signal),
      listKeys(gateway, signal),
    ]);
    return { rules, keys };
  }, []);
  const filter = (name: string) => ({
    value: filters[name] ?? "",
    onChange: (value: string) => replaceSearch({ [name]: value }),
  });
  return (
    <form class="filters" aria-label="Filters" onSubmit={(event) => event.preventDefault()}>
      <Filter label="Status" {...filter("status")} choices={STATUSES} />
      <Filter label="Outcome" {...filter("outcome")} choices={Object.entries(OUTCOMES)} />
      <Filter
        label="Rule"
        {...filter("rule_id")}
        choices={(data?.rules ?? []).map(({ id, path }) => [id, path] as const)}
      />
      <Filter
        label="API key"
        {...filter("api_key_id")}
        choices={(data?.keys ?? []).map(({ id, name }) => [id, name] as const)}
      />
      <Filter label="Provider" {...filter("provider")} />
      <Filter label="Model" {...filter("model")} />
      <Filter label="Tool" {...filter("tool")} />
      <Filter label="Error code" {...filter("error_code")} />
      <Filter label="Request id" {...filter("request_id")} />
      <label class="check">
        <input
          type="checkbox"
          checked={onlyFailovers}
          onChange={(event) => onOnlyFailovers(event.currentTarget.checked)}
        />
        <span>Only failovers</span>
      </label>
      {(filters["since"] !== undefined || filters["until"] !== undefined) && (
        <Button icon="close" onClick={() => replaceSearch({ since: null, until: null })}>
          {periodName(filters["since"], filters["until"])}
        </Button>
      )}
    </form>
  );
}

/** Name of the button that removes the filter by time. */
function periodName(since: string | undefined, until: string | undefined): string {
  const clock = (time: string) => formatClock(new Date(time));
  if (since !== undefined && until !== undefined) return `${clock(since)} to ${clock(until)}`;
  return since === undefined ? `Before ${clock(until ?? "")}` : `Since ${clock(since)}`;
}
