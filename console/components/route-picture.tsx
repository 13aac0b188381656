// The routes of a gateway as one picture: a column per kind of record, and edges with their live traffic.
import type { JSX } from "preact";
import {
  layOut,
  NODE_HEIGHT,
  type NodeKind,
  type RouteEdge,
  type RouteGraph,
  type RouteLayout,
} from "../state/route-graph.ts";
import { formatErrors, formatRate } from "../state/route-rates.ts";
import { KIND_LABELS, NewRecordButton, RouteNodeButton, type RouteState } from "./route-node.tsx";

/** Column of the targets. */
const TARGETS = 3;

interface RoutePictureProps {
  readonly graph: RouteGraph;
  readonly state: RouteState;
}

export function RoutePicture({ graph, state }: RoutePictureProps): JSX.Element {
  const layout = layOut(graph);
  const { places, columnWidth, height } = layout;
  const off = new Set(graph.columns.flat().flatMap(({ id, isOff }) => (isOff ? [id] : [])));
  return (
    <div class="route-picture">
      <div class="route-columns">
        {graph.kinds.map((kinds, column) => (
          <div key={column} style={{ width: `${columnWidth}%` }}>
            {kinds.map((kind) => (
              <span key={kind}>
                {KIND_LABELS[kind].many}
                <NewRecordButton kind={kind} state={state} />
              </span>
            ))}
          </div>
        ))}
      </div>
      <div class="route-canvas" style={{ height: `${height}px` }}>
        <svg viewBox={`0 0 100 ${height}`} preserveAspectRatio="none" aria-hidden="true">
          {graph.edges.map((edge) => (
            <path
              key={`${edge.from} ${edge.to}`}
              class={classOf(edge, state, off)}
              d={curveOf(edge, layout)}
              stroke-width={1.5 + Math.min(6, Math.log2(1 + state.rates.ofEdge(edge).requests))}
            />
          ))}
        </svg>
        {graph.edges.map((edge) => (
          <EdgeLabel
            key={`${edge.from} ${edge.to}`}
            edge={edge}
            graph={graph}
            layout={layout}
            state={state}
          />
        ))}
        {graph.columns.map((nodes, column) => (
          <ul key={column} aria-label={titleOf(graph.kinds[column] ?? [])}>
            {nodes.map((node) => {
              const { left = 0, top = 0 } = places.get(node.id) ?? {};
              const style = {
                left: `${left}%`,
                top: `${top}px`,
                width: `${columnWidth}%`,
                height: `${NODE_HEIGHT}px`,
              };
              return (
                <li key={node.id}>
                  <RouteNodeButton node={node} state={state} style={style} />
                </li>
              );
            })}
          </ul>
        ))}
      </div>
    </div>
  );
}

function titleOf(kinds: readonly NodeKind[]): string {
  return kinds.map((kind) => KIND_LABELS[kind].many).join(" and ");
}

function classOf(edge: RouteEdge, { rates }: RouteState, off: ReadonlySet<string>): string {
  if (edge.isOff === true || off.has(edge.from) || off.has(edge.to)) return "off";
  const { requests, errors } = rates.ofEdge(edge);
  return requests === 0 ? "idle" : errors > 0 ? "failing" : "busy";
}

function curveOf({ from, to }: RouteEdge, { places, columnWidth }: RouteLayout): string {
  const [start, end] = [places.get(from), places.get(to)];
  if (start === undefined || end === undefined) return "";
  const [x1, y1, x2, y2] = [
    start.left + columnWidth,
    start.top + NODE_HEIGHT / 2,
    end.left,
    end.top + NODE_HEIGHT / 2,
  ];
  const middle = (x1 + x2) / 2;
  return `M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}`;
}

interface EdgeLabelProps {
  readonly edge: RouteEdge;
  readonly graph: RouteGraph;
  readonly layout: RouteLayout;
  readonly state: RouteState;
}

/** At the end that belongs to this edge only, or else halfway. */
function EdgeLabel({ edge, graph, layout, state }: EdgeLabelProps): JSX.Element | null {
  const { places, columnWidth } = layout;
  const rate = state.rates.ofEdge(edge);
  const start = places.get(edge.from);
  const end = places.get(edge.to);
  if (rate.requests === 0 || start === undefined || end === undefined) return null;
  const position = positionOf(edge, graph);
  const left = start.left + columnWidth;
  const top = { start: start.top, middle: (start.top + end.top) / 2, end: end.top }[position];
  return (
    <span
      class={`route-label ${position}${rate.errors > 0 ? " failing" : ""}`}
      aria-hidden="true"
      style={{ left: `${left}%`, width: `${end.left - left}%`, top: `${top}px` }}
    >
      {formatRate(rate)} <span>{formatErrors(rate)}</span>
    </span>
  );
}

function positionOf(edge: RouteEdge, { edges, columns }: RouteGraph): "start" | "middle" | "end" {
  // A target belongs to one upstream.
  if (columns[TARGETS]?.some(({ id }) => id === edge.to) === true) return "end";
  if (edges.filter(({ from }) => from === edge.from).length === 1) return "start";
  return edges.filter(({ to }) => to === edge.to).length === 1 ? "end" : "middle";
}
