// Usage of a gateway by rule, by provider, or by a label of its API keys.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { get, toQueryString } from "../api/client.ts";
import { listKeys } from "../api/resources.ts";
import type { UsageReport } from "../api/types.ts";
import { useLoad } from "../state/load.ts";
import { groupChoices, groupName, rankGroups } from "../state/usage.ts";
import { Button } from "./button.tsx";
import { Section, WhenLoaded } from "./page.tsx";
import { TotalsTable } from "./usage-totals.tsx";

interface UsageByGroupProps {
  readonly gateway: string;
  readonly from: string;
  readonly to: string;
}

export function UsageByGroup({ gateway, from, to }: UsageByGroupProps): JSX.Element {
  const [group, setGroup] = useState("rule");
  const loaded = useLoad(
    async (signal) => {
      const query = toQueryString({ from, to, group_by: group });
      const [report, keys] = await Promise.all([
        get<UsageReport>(`/gateways/${gateway}/usage${query}`, signal),
        listKeys(gateway, signal),
      ]);
      return { rows: report.usage, choices: groupChoices(keys), group };
    },
    [from, to, group],
  );
  return (
    <Section title="By rule, provider, or label">
      <WhenLoaded loaded={loaded} what="usage">
        {({ rows, choices, group: shown }) => {
          const title = choices.find(([each]) => each === shown)?.[1] ?? shown;
          return (
            <>
              <div class="button-group" role="group" aria-label="Group by">
                {choices.map(([each, label]) => (
                  <Button key={each} isPressed={each === group} onClick={() => setGroup(each)}>
                    {label}
                  </Button>
                ))}
              </div>
              <TotalsTable
                label={`Usage by ${title.toLowerCase()}`}
                first={title}
                groups={rankGroups(
                  rows,
                  (row) => groupName(row, shown),
                  ({ requests }) => requests,
                )}
              />
            </>
          );
        }}
      </WhenLoaded>
    </Section>
  );
}
