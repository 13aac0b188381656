// Creates the records of a first route one by one. Keeps what was created, so that a retry continues after the last success.
import { call } from "../api/client.ts";
import { KEYS_PATH } from "../api/resources.ts";
import type { ApiKeyWithKey, TargetInput } from "../api/types.ts";

interface FirstRouteInput {
  readonly name: string;
  readonly path: string;
  readonly requireKey: boolean;
  readonly target: TargetInput;
}

export const STEPS = ["gateway", "upstream", "service", "rule", "api_key"] as const;
export type Step = (typeof STEPS)[number];

export interface FirstRoute {
  readonly ids: Readonly<Partial<Record<Step, string>>>;
  /** The API key. The API returns it only when it is created. */
  readonly key: string | null;
}

export const NOTHING_CREATED: FirstRoute = { ids: {}, key: null };

/** Creates the records that `before` lacks and calls `onStep` after each one. */
export async function createFirstRoute(
  input: FirstRouteInput,
  before: FirstRoute,
  onStep: (created: FirstRoute) => void,
): Promise<FirstRoute> {
  let created = before;
  for (const step of STEPS) {
    if (created.ids[step] !== undefined) continue;
    const [path, body] = requestFor(step, input, created.ids);
    const { data } = await call<Partial<ApiKeyWithKey> & { id: string }>("POST", path, { body });
    created = { ids: { ...created.ids, [step]: data.id }, key: data.key ?? created.key };
    onStep(created);
  }
  return created;
}

function requestFor(
  step: Step,
  input: FirstRouteInput,
  ids: FirstRoute["ids"],
): [path: string, body: object] {
  const gateway = ids.gateway ?? "";
  const base = `/gateways/${gateway}`;
  switch (step) {
    case "gateway":
      return ["/gateways", { name: input.name, require_api_key: input.requireKey, error_format: "auto" }];
    case "upstream":
      return [
        `${base}/upstreams`,
        {
          name: "models",
          targets: [input.target],
          health_checks: { passive: true, threshold: 3, interval: 60 },
        },
      ];
    case "service":
      return [`${base}/services`, { name: "models", upstream_id: ids.upstream }];
    case "rule":
      return [`${base}/rules`, { service_id: ids.service, path: input.path, methods: ["*"] }];
    case "api_key":
      return [KEYS_PATH, { name: "first key", subject: gateway, policies: [ids.rule] }];
  }
}
