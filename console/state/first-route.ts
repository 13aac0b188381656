// Makes all that a first route needs, one part after the other. What was made is kept, so that a second try goes on from there.
import { call } from "../api/client.ts";
import { KEYS } from "../api/resources.ts";
import type { ApiKeyWithKey, TargetInput } from "../api/types.ts";

export interface FirstRouteWish {
  readonly name: string;
  readonly path: string;
  readonly requireKey: boolean;
  readonly target: TargetInput;
}

export const STEPS = ["gateway", "upstream", "service", "rule", "api_key"] as const;
export type Step = (typeof STEPS)[number];

export interface FirstRoute {
  readonly ids: Readonly<Partial<Record<Step, string>>>;
  /** Shown once. */
  readonly key: string | null;
}

export const NOTHING_MADE: FirstRoute = { ids: {}, key: null };

/** Tells after each part what there is by then. */
export async function makeFirstRoute(
  wish: FirstRouteWish,
  before: FirstRoute,
  onStep: (made: FirstRoute) => void,
): Promise<FirstRoute> {
  let made = before;
  for (const step of STEPS) {
    if (made.ids[step] !== undefined) continue;
    const [path, body] = requestFor(step, wish, made.ids);
    const { data } = await call<Partial<ApiKeyWithKey> & { id: string }>("POST", path, { body });
    made = { ids: { ...made.ids, [step]: data.id }, key: data.key ?? made.key };
    onStep(made);
  }
  return made;
}

function requestFor(step: Step, wish: FirstRouteWish, ids: FirstRoute["ids"]): [path: string, body: object] {
  const gateway = ids.gateway ?? "";
  const base = `/gateways/${gateway}`;
  switch (step) {
    case "gateway":
      return ["/gateways", { name: wish.name, require_api_key: wish.requireKey }];
    case "upstream":
      return [
        `${base}/upstreams`,
        {
          name: "models",
          targets: [wish.target],
          health_checks: { passive: true, threshold: 3, interval: 60 },
        },
      ];
    case "service":
      return [`${base}/services`, { name: "chat", upstream_id: ids.upstream }];
    case "rule":
      return [`${base}/rules`, { name: "chat", service_id: ids.service, path: wish.path, methods: ["POST"] }];
    case "api_key":
      return [KEYS, { name: "first key", subject: gateway, policies: [ids.rule] }];
  }
}
