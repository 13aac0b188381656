// Draft of the setup page: its conversion to a target, and of API error paths to its fields.
import { ApiError } from "../api/client.ts";
import type { Provider, TargetInput } from "../api/types.ts";
import { emptyCredential } from "./credential.ts";
import { STEPS, type FirstRoute, type Step } from "./first-route.ts";

export interface Draft {
  readonly hasAccount: boolean;
  readonly provider: string;
  readonly credential: string;
  readonly baseUrl: string;
  /** The first one is the default. */
  readonly models: readonly string[];
  readonly name: string;
  readonly path: string;
  readonly requireKey: boolean;
}

export const FAKE_PROVIDER = {
  name: "fake",
  baseUrl: "http://127.0.0.1:9099",
  model: "fake-model",
  command: "npm run fake-provider -- --port 9099",
  executableCommand: "gatehouse fake-provider --port 9099",
};

export const STEP_LABELS: Readonly<Record<Step, string>> = {
  gateway: "Gateway",
  upstream: "Upstream with the provider as its target",
  service: "Service",
  rule: "Rule",
  api_key: "API key",
};

export function toTarget(draft: Draft, providers: readonly Provider[]): TargetInput {
  const baseUrl = draft.baseUrl.trim();
  if (!draft.hasAccount) {
    return {
      provider: FAKE_PROVIDER.name,
      base_url: baseUrl === "" ? FAKE_PROVIDER.baseUrl : baseUrl,
      default_model: FAKE_PROVIDER.model,
      models: [FAKE_PROVIDER.model],
    };
  }
  const provider = providers.find(({ name }) => name === draft.provider);
  const { header_name, header_value } = emptyCredential({ provider });
  const credential = draft.credential.trim();
  const [defaultModel] = draft.models;
  return {
    provider: draft.provider,
    ...(baseUrl !== "" && { base_url: baseUrl }),
    ...(defaultModel !== undefined && { default_model: defaultModel, models: [...draft.models] }),
    ...(credential !== "" && { credentials: { header_name, header_value: header_value + credential } }),
  };
}

const FIELDS: Readonly<Record<string, string>> = {
  "targets[0].base_url": "baseUrl",
  "targets[0].provider": "provider",
  "targets[0].default_model": "models",
  "targets[0].credentials.header_value": "credential",
};

/** Maps the paths of an API error to fields of the draft, and names the step that failed. */
export function mapError(error: unknown, created: FirstRoute): unknown {
  if (!(error instanceof ApiError)) return error;
  const { status, code, message } = error;
  const details = error.details.map((detail) => ({ ...detail, path: FIELDS[detail.path] ?? detail.path }));
  const failed = STEPS.find((step) => created.ids[step] === undefined);
  return new ApiError(status, {
    error: failed === undefined ? message : `${STEP_LABELS[failed]} could not be created: ${message}`,
    code,
    details,
  });
}
