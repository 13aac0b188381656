// Where records have secrets, by the declarations of their kinds.
import type { Kind, KindDeclaration, RecordOf } from "../kinds/kind.ts";
import { KINDS, KIND_NAMES } from "../kinds/kinds.ts";
import type { Budget } from "../model/budget.ts";
import { hideOwnSecrets, hideSecrets, hideWebhook } from "../model/record-diff.ts";
import type { Target } from "../model/target.ts";
import { MCP_SERVERS, type SealedRecord } from "./sealed-targets.ts";

/** Kinds whose records have secrets. */
export const SECRET_KINDS: readonly Kind[] = KIND_NAMES.filter((kind) => KINDS[kind].secrets !== null);

/** Kinds whose secrets are sent to places that records name. */
export const DESTINATION_KINDS: readonly Kind[] = SECRET_KINDS.filter(
  (kind) => KINDS[kind].secrets !== "webhook",
);

/** Encrypts, decrypts or reads secrets. */
interface SecretMapper {
  /** The secrets of a target of an upstream, or of an MCP server. `owner` is what they are bound to. */
  readonly target: <T extends SealedRecord>(target: T, owner: string) => T;
  readonly webhook: <T extends Pick<Budget, "id" | "webhook">>(record: T) => T;
}

type Declared = KindDeclaration<Kind>["secrets"];

export function mapSecretsOf<K extends Kind>(kind: K, record: RecordOf[K], map: SecretMapper): RecordOf[K] {
  const secrets: Declared = KINDS[kind].secrets;
  if (secrets === null) return record;
  // The declaration of a kind says which of these fields its records have.
  const holder: unknown = record;
  return MAPPERS[secrets](holder as never, map) as unknown as RecordOf[K];
}

/** Returns a record for a comparison: secrets are compared without being readable. */
export function hideSecretsOf(kind: Kind, record: object): object {
  const secrets: Declared = KINDS[kind].secrets;
  return secrets === null ? record : HIDERS[secrets](record as never);
}

const HIDERS = {
  targets: hideSecrets,
  server: hideOwnSecrets,
  webhook: hideWebhook,
} satisfies Record<NonNullable<Declared>, (record: never) => object>;

const MAPPERS = {
  targets: (record: { readonly id: string; readonly targets: readonly Target[] }, map: SecretMapper) => ({
    ...record,
    targets: record.targets.map((target) => map.target(target, record.id)),
  }),
  server: (record: SealedRecord, map: SecretMapper) => map.target(record, MCP_SERVERS),
  webhook: (record: Pick<Budget, "id" | "webhook">, map: SecretMapper) => map.webhook(record),
} satisfies Record<NonNullable<Declared>, (record: never, map: SecretMapper) => object>;
