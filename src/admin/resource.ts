// The declaration of a resource: what distinguishes it from the others. resource-operations.ts derives its operations.
import type { z } from "zod";
import type { AdminRole } from "../model/administrator.ts";
import type { JsonObject } from "../base/json.ts";
import { CHILD_READ_ONLY_FIELDS, type RecordFields } from "../model/record.ts";
import type { Kind, RecordOf } from "../kinds/kind.ts";
import type { Transaction } from "../store/store.ts";
import type { Versioned } from "./etag.ts";
import type { ListParameters } from "./list-query.ts";
import { requireGateway, type RecordReader } from "./write.ts";

type OperationName = "list" | "create" | "get" | "replace" | "merge" | "delete";

/** Texts for the OpenAPI document that replace the default ones. */
interface Documentation {
  readonly summary?: string;
  readonly description?: string;
  /** Component schema of the response. */
  readonly schema?: string;
}

export interface DeleteParameters {
  readonly cascade?: "true" | "false";
}

export interface Resource<K extends Kind, Fields> {
  /** The table of the store, and the key of the array in a list. */
  readonly kind: K;
  /** As in "API key" and "API keys". */
  readonly singular: string;
  readonly plural: string;
  readonly tag: string;
  /** The least roles that may read and change records. */
  readonly access: { readonly read: AdminRole; readonly write: AdminRole };
  /** Name of the component schema; the request body is `<schemaName>Input` or `<schemaName>Patch`. */
  readonly schemaName: string;
  /** Path of the list, relative to /api/v1. */
  readonly collection: string;
  readonly idParameter: string;
  /** Records are located below their gateway: `collection` has the parameter `gateway_id`. */
  readonly isChild: boolean;
  readonly schema: z.ZodObject & z.ZodType<Fields>;
  /** The record as responses show it, for the OpenAPI document. */
  readonly shownSchema: z.ZodType;
  readonly readOnlyFields: readonly string[];
  readonly example: JsonObject;
  /** Example for PATCH, if it must not contain all fields of `example`. */
  readonly patchExample?: JsonObject;
  readonly hasPut: boolean;
  readonly documentation?: { readonly [Name in OperationName]?: Documentation };
  readonly listQuery?: z.ZodType<ListParameters>;
  readonly deleteQuery?: z.ZodType<DeleteParameters>;

  /** `shownOnce` is added to the response and never shown again. */
  readonly create: (
    fields: Fields,
    base: RecordFields,
    gatewayId: string,
  ) => { readonly record: RecordOf[K]; readonly shownOnce?: JsonObject };
  readonly change: (
    before: RecordOf[K],
    fields: Fields,
    updatedAt: string,
    newId: () => string,
  ) => RecordOf[K];
  readonly show: (record: RecordOf[K]) => Versioned;
  readonly delete: (transaction: Transaction, record: RecordOf[K], cascade: boolean) => Promise<void>;
  /** Throws if a new record refers to a gateway that does not exist. */
  readonly requireParent?: (reader: RecordReader, record: RecordOf[K]) => Promise<void>;
  /** Throws if the record can no longer be changed. */
  readonly requireMutable?: (record: RecordOf[K]) => void;
  /** The record remains after DELETE: another DELETE returns 204 and changes nothing. */
  readonly isDeleted?: (record: RecordOf[K]) => boolean;
}

type ChildKind = Exclude<Kind, "gateways" | "api_keys">;

/** The part of the declaration that all resources below a gateway share. */
export function childDeclaration<K extends ChildKind>(kind: K, singular: string) {
  return {
    kind,
    singular,
    plural: kind,
    tag: kind,
    collection: `/gateways/{gateway_id}/${kind}`,
    idParameter: `${singular}_id`,
    access: { read: "viewer", write: "operator" } as const,
    isChild: true,
    readOnlyFields: CHILD_READ_ONLY_FIELDS,
    hasPut: true,
    delete: (transaction: Transaction, { id }: { readonly id: string }) => transaction.remove(kind, id),
    requireParent: async (reader: RecordReader, { gateway_id }: { readonly gateway_id: string }) => {
      await requireGateway(reader, gateway_id);
    },
  };
}
