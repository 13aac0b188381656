// What is wrong with a gateway: failing targets, errors and rejected requests by code, blocks. Each links to its requests or page.
import type { ComponentChildren, JSX } from "preact";
import { toQueryString } from "../api/client.ts";
import { ERROR_MEANINGS } from "../api/error-meanings.ts";
import type { Traffic } from "../api/types.ts";
import { Link } from "../state/router.tsx";
import { Badge, type Tone } from "./badge.tsx";
import { formatCount, Time } from "./format.tsx";
import { targetStateLabel } from "./labels.ts";
import { Section } from "./page.tsx";
import { ChosenTable } from "./chosen-table.tsx";
import type { TargetRow } from "./target-health.tsx";
import { ErrorCode, TextWithCode } from "./text-with-code.tsx";

interface ProblemsProps {
  readonly gateway: string;
  readonly total: Traffic["total"];
  readonly targets: readonly TargetRow[];
  readonly blockCount: number;
  /** Start of the period. */
  readonly since: string;
  /** Name of the period, such as "last hour". */
  readonly period: string;
}

interface Problem {
  readonly key: string;
  readonly kind: string;
  readonly tone: Tone;
  readonly what: ComponentChildren;
  readonly count: number | null;
  readonly detail: ComponentChildren;
  readonly to: string;
  readonly linkText: string;
  /** Begins with the text. */
  readonly linkLabel: string;
}

export function Problems(props: ProblemsProps): JSX.Element {
  const problems = [...targetProblems(props), ...errorProblems(props), ...blockProblems(props)];
  if (problems.length === 0)
    return (
      <p class="no-problems" role="status">
        <Badge tone="good">No problems</Badge> No errors, no unhealthy targets, and no blocks in the{" "}
        {props.period}.
      </p>
    );
  return (
    <Section title="Problems">
      <ChosenTable
        label="Problems"
        rows={problems}
        keyOf={({ key }) => key}
        columns={[
          { title: "Problem", kind: "main", cell: ({ what }) => what },
          { title: "Kind", cell: ({ kind, tone }) => <Badge tone={tone}>{kind}</Badge> },
          {
            title: "Count",
            kind: "number",
            cell: ({ count }) => (count === null ? "–" : formatCount(count)),
          },
          { title: "Meaning", cell: ({ detail }) => detail },
          {
            title: "Details",
            kind: "actions",
            cell: ({ to, linkText, linkLabel }) => (
              <Link to={to} label={linkLabel}>
                {linkText}
              </Link>
            ),
          },
        ]}
      />
    </Section>
  );
}

function targetProblems({ gateway, targets, since }: ProblemsProps): Problem[] {
  return targets.flatMap((target) => {
    const label = targetStateLabel(target);
    if (label === null || label.tone === "good" || target.weight === 0) return [];
    return {
      key: `target ${target.target_id}`,
      kind: label.text,
      tone: label.tone,
      what: `Target ${target.provider}`,
      count: target.recent_failures,
      detail: (
        <>
          Failures in a row, upstream{" "}
          <Link to={`/gateways/${gateway}/upstreams/${target.upstream_id}`}>{target.upstream}</Link>
          {target.until !== null && (
            <>
              , until <Time at={target.until} />
            </>
          )}
        </>
      ),
      to: requestsPath(gateway, { provider: target.provider, since }),
      linkText: "Requests",
      linkLabel: `Requests to ${target.provider}`,
    };
  });
}

function errorProblems({ gateway, total, since }: ProblemsProps): Problem[] {
  const toProblem =
    (kind: string, tone: Tone) =>
    ([code, count]: readonly [string, number]): Problem => ({
      key: `${kind} ${code}`,
      kind,
      tone,
      what: <ErrorCode code={code} />,
      count,
      detail: <TextWithCode text={meaningOf(code)} />,
      to: requestsPath(gateway, { ...filterOf(code), since }),
      linkText: "Requests",
      linkLabel: `Requests with ${code}`,
    });
  const byCount = ([, left]: readonly [string, number], [, right]: readonly [string, number]) => right - left;
  return [
    ...Object.entries(total.failed).sort(byCount).map(toProblem("Failed", "bad")),
    ...Object.entries(total.refused).sort(byCount).map(toProblem("Rejected", "warning")),
  ];
}

function blockProblems({ gateway, blockCount }: ProblemsProps): Problem[] {
  if (blockCount === 0) return [];
  return [
    {
      key: "blocks",
      kind: "Blocked",
      tone: "warning",
      what: "Blocked clients",
      count: blockCount,
      detail: "A plugin has blocked clients. Their requests are rejected until the block ends or is removed.",
      to: `/gateways/${gateway}/blocks`,
      linkText: "Blocks",
      linkLabel: "Blocks",
    },
  ];
}

const STATUS_CODE = /^status_(\d{3})$/;

function meaningOf(code: string): string {
  const status = STATUS_CODE.exec(code)?.[1];
  if (status !== undefined) return `The provider responded with status ${status}, which was passed on.`;
  if (code === "incomplete") return "The response ended before it was complete.";
  return ERROR_MEANINGS[code] ?? "";
}

/** The filter of the request log that selects the requests of this code. "other" combines several codes. */
function filterOf(code: string): Record<string, string> {
  const status = STATUS_CODE.exec(code)?.[1];
  if (status !== undefined) return { status };
  if (code === "incomplete") return { outcome: "incomplete" };
  return code === "other" ? {} : { error_code: code };
}

function requestsPath(gateway: string, filters: Readonly<Record<string, string>>): string {
  return `/gateways/${gateway}/requests${toQueryString(filters)}`;
}
