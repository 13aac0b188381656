// What the response cache of a gateway has done, with a purge action.
import type { JSX } from "preact";
import { call, get } from "../api/client.ts";
import type { CacheState } from "../api/types.ts";
import { confirmAction, showToast } from "../state/dialogs.ts";
import { useLoad } from "../state/load.ts";
import { Button } from "./button.tsx";
import { formatCount, formatPartialCost } from "./format.tsx";
import { Section, WhenLoaded } from "./page.tsx";

export function CacheCard({ gateway }: { readonly gateway: string }): JSX.Element {
  const path = `/gateways/${gateway}/cache`;
  const loaded = useLoad((signal) => get<CacheState>(path, signal), [gateway]);
  const purge = async () => {
    const isDone = await confirmAction({
      title: "Remove all kept responses?",
      text: "The next requests of this gateway are sent to providers again.",
      confirm: "Purge",
      isDangerous: true,
      action: () => call("DELETE", path),
    });
    if (!isDone) return;
    showToast("Removed all kept responses.");
    loaded.reload();
  };
  return (
    <Section
      title="Response cache"
      actions={
        <Button operation={`DELETE ${path}`} onClick={() => void purge()}>
          Purge
        </Button>
      }
    >
      <WhenLoaded loaded={loaded} what="the cache">
        {(state) => (
          <dl class="tiles">
            <Tile label="Hit ratio" value={ratioOf(state)} hint={`${formatCount(state.misses)} misses`} />
            <Tile
              label="Hits"
              value={formatCount(state.hits)}
              hint={`${formatCount(state.coalesced)} shared a call`}
            />
            <Tile
              label="Saved"
              value={formatPartialCost(state.saved_cost, state.unpriced_requests)}
              hint={`${formatCount(state.saved_input_tokens + state.saved_output_tokens)} tokens`}
            />
            <Tile
              label="Kept responses"
              value={formatCount(state.entries)}
              hint={`${sizeOf(state.bytes)} of ${sizeOf(state.max_bytes)}, in ${state.store === "redis" ? "Redis" : "memory"}`}
            />
          </dl>
        )}
      </WhenLoaded>
    </Section>
  );
}

function Tile({
  label,
  value,
  hint,
}: {
  readonly label: string;
  readonly value: string;
  readonly hint: string;
}): JSX.Element {
  return (
    <div class="tile">
      <dt>{label}</dt>
      <dd>{value}</dd>
      <dd class="hint">{hint}</dd>
    </div>
  );
}

function ratioOf({ hit_ratio }: CacheState): string {
  return hit_ratio === null ? "–" : `${formatCount(Math.round(hit_ratio * 1000) / 10)} %`;
}

function sizeOf(bytes: number): string {
  return `${formatCount(Math.round(bytes / 104_857.6) / 10)} MiB`;
}
