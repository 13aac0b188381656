// Usage per hour of the last seven days, from the traffic rollups.
import type { JSX } from "preact";
import { get, toQueryString } from "../api/client.ts";
import type { TrafficPoint } from "../api/item-types.ts";
import type { Traffic } from "../api/types.ts";
import { useLoad } from "../state/load.ts";
import { Chart } from "./chart.tsx";
import { WhenLoaded } from "./page.tsx";

interface UsageByHourProps {
  readonly gateway: string;
  readonly title: string;
  readonly select: (point: TrafficPoint) => number;
  readonly format: (value: number) => string;
}

export function UsageByHour({ gateway, title, select, format }: UsageByHourProps): JSX.Element {
  const loaded = useLoad(
    (signal) => get<Traffic>(`/traffic${toQueryString({ range: "7d", gateway_id: gateway })}`, signal),
    [gateway],
  );
  return (
    <WhenLoaded loaded={loaded} what="usage">
      {({ points }) => (
        <Chart
          title={`${title} per hour, last 7 days`}
          times={points.map(({ time }) => Date.parse(time) / 1000)}
          format={format}
          height={180}
          series={[{ label: title, values: points.map(select), color: "series-1", isFilled: true }]}
        />
      )}
    </WhenLoaded>
  );
}
