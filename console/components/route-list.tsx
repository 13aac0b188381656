// The routes of a gateway as a list, for narrow screens: each rule with what its requests pass.
import type { JSX } from "preact";
import type { RouteGraph, RouteNode } from "../state/route-graph.ts";
import { RouteNodeButton, type RouteState } from "./route-node.tsx";

interface RouteListProps {
  readonly graph: RouteGraph;
  readonly state: RouteState;
}

export function RouteList({ graph, state }: RouteListProps): JSX.Element {
  const nodes = new Map(graph.columns.flat().map((node) => [node.id, node]));
  const next = Map.groupBy(graph.edges, ({ from }) => from);
  const after = (node: RouteNode) => (next.get(node.id) ?? []).flatMap(({ to }) => nodes.get(to) ?? []);
  const isLeadTo = new Set(graph.edges.map(({ to }) => to));
  const first = graph.columns.flat().filter(({ id }) => !isLeadTo.has(id));
  return (
    <ul class="route-list" aria-label="Routes">
      {first.map((node) => (
        <li key={node.id} class="card">
          <Chain node={node} after={after} state={state} />
        </li>
      ))}
    </ul>
  );
}

interface ChainProps {
  readonly node: RouteNode;
  readonly after: (node: RouteNode) => readonly RouteNode[];
  readonly state: RouteState;
}

function Chain({ node, after, state }: ChainProps): JSX.Element {
  const following = after(node);
  return (
    <>
      <RouteNodeButton node={node} state={state} showsRate />
      {following.length > 0 && (
        <ul>
          {following.map((each) => (
            <li key={each.id}>
              <Chain node={each} after={after} state={state} />
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
