// Banner above every page while the gateway is unreachable or degraded.
import type { JSX } from "preact";
import { connection } from "../state/connection.ts";
import { Icon } from "./icon.tsx";
import { formatClock } from "./format.tsx";

export function Banner(): JSX.Element {
  const state = connection.value;
  return (
    <div role="alert">
      {state.state !== "ok" && (
        <p class={`banner ${state.state}`}>
          <Icon name="warning" />
          {state.state === "unreachable"
            ? `The gateway does not respond. This page shows data from ${formatClock(state.since)}. Reconnecting…`
            : state.message}
        </p>
      )}
    </div>
  );
}
