// What is wrong with the gateway as a whole, above every page, for as long as it is.
import type { JSX } from "preact";
import { connection } from "../state/connection.ts";
import { Icon } from "./icon.tsx";
import { formatClock } from "./time.tsx";

export function Banner(): JSX.Element {
  const state = connection.value;
  return (
    <div role="alert">
      {state.state !== "ok" && (
        <p class={`banner ${state.state}`}>
          <Icon name="warning" />
          {state.state === "away"
            ? `The gateway does not answer. What you see is from ${formatClock(state.since)}; trying again by itself…`
            : state.sentence}
        </p>
      )}
    </div>
  );
}
