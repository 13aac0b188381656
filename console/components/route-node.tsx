// One record in the picture of routes: a button that opens its form.
import type { JSX } from "preact";
import type { TargetHealth } from "../api/item-types.ts";
import type { NodeKind, OpenedRecord, RouteNode } from "../state/route-graph.ts";
import { describeRate, formatErrors, formatRate, type GraphRates } from "../state/route-rates.ts";
import { Badge } from "./badge.tsx";
import { IconButton } from "./button.tsx";
import { targetStateLabel } from "./labels.ts";

export const KIND_LABELS: Readonly<Record<NodeKind, { readonly one: string; readonly many: string }>> = {
  rule: { one: "Rule", many: "Rules" },
  service: { one: "Service", many: "Services" },
  upstream: { one: "Upstream", many: "Upstreams" },
  "mcp-server": { one: "MCP server", many: "MCP servers" },
  target: { one: "Target", many: "Targets" },
  model: { one: "Virtual model", many: "Virtual models" },
};

/** What the page knows about the nodes besides their records. */
export interface RouteState {
  readonly rates: GraphRates;
  /** By id of the target. */
  readonly health: ReadonlyMap<string, TargetHealth>;
  readonly open: (record: OpenedRecord) => void;
  /** Whether the administrator may create records of this kind. */
  readonly mayCreate: (kind: NodeKind) => boolean;
}

interface RouteNodeButtonProps {
  readonly node: RouteNode;
  readonly state: RouteState;
  readonly style?: Readonly<Record<string, string>>;
  /** Whether the traffic is shown in the node; otherwise it is at the edge. */
  readonly showsRate?: boolean;
}

export function RouteNodeButton(props: RouteNodeButtonProps): JSX.Element {
  const { node, state, style, showsRate = false } = props;
  const rate = state.rates.ofNode(node.id);
  const label =
    node.kind === "target" && !node.isOff ? targetStateLabel(state.health.get(node.id) ?? null) : null;
  const description = [
    `${KIND_LABELS[node.kind].one} ${node.title}`,
    node.detail,
    label?.text ?? "",
    describeRate(rate),
  ];
  return (
    <button
      type="button"
      class={`route-node ${node.kind}${node.isOff ? " off" : ""}`}
      style={style}
      aria-label={description.filter((part) => part !== "").join(", ")}
      onClick={() => state.open(node)}
    >
      <span class="route-title" title={node.title}>
        {node.title}
      </span>
      <span class="route-detail">
        {label !== null && <Badge tone={label.tone}>{label.text}</Badge>}{" "}
        <span title={node.detail}>{node.detail}</span>
      </span>
      {showsRate && rate.requests > 0 && (
        <span class={rate.errors > 0 ? "route-rate failing" : "route-rate"}>
          {formatRate(rate)} {formatErrors(rate)}
        </span>
      )}
    </button>
  );
}

interface NewRecordButtonProps {
  readonly kind: NodeKind;
  readonly state: RouteState;
}

export function NewRecordButton({ kind, state }: NewRecordButtonProps): JSX.Element | null {
  if (!state.mayCreate(kind)) return null;
  const { one } = KIND_LABELS[kind];
  const title = `New ${kind === "mcp-server" ? one : one.toLowerCase()}`;
  return <IconButton icon="add" label={title} onClick={() => state.open({ kind, title, recordId: "new" })} />;
}
