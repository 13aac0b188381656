// Encrypts stored secrets again: those that an older version stored in plain text, and those that are encrypted with an older key.
import type { Kind, RecordOf } from "../kinds/kind.ts";
import { omit } from "../model/record.ts";
import type { CredentialCipher } from "./credential-cipher.ts";
import type { Database, Query, Row } from "./database.ts";
import { rowChangesIn } from "./revision-columns.ts";
import { mapSecretsOf, SECRET_KINDS } from "./record-secrets.ts";
import { resealTarget, type StoredSecretMapper } from "./sealed-targets.ts";
import { resealWebhook } from "./sealed-webhooks.ts";

/** Rows per transaction, so that other nodes can write in between. */
const BATCH = 100;

/** How many secrets are stored, and how. The history of a record counts like the record. */
export interface SecretCounts {
  /** Encrypted with the newest key. */
  newest: number;
  /** Encrypted with an older key. */
  older: number;
  plain: number;
  /** Encrypted with a key that is not configured. */
  unreadable: number;
}

/** `plain` encrypts only what is stored in plain text; `all` also what is encrypted with an older key. */
type Mode = "count" | "plain" | "all";

/** Reads all secrets, and encrypts those that `mode` selects. Returns how they were stored before. */
export async function resealAll(
  database: Database,
  cipher: CredentialCipher,
  mode: Mode,
): Promise<SecretCounts> {
  const resealer = new Resealer(cipher, mode);
  const run = <T>(work: (query: Query) => Promise<T>) =>
    mode === "count" ? work(database.query) : database.writeTransaction(work);
  for (const table of SECRET_KINDS) {
    for (let last: string | null = ""; last !== null;) {
      const after: string = last;
      last = await run((query) => resealRows(query, table, after, resealer));
    }
  }
  for (let last: number | null = -1; last !== null;) {
    const after: number = last;
    last = await run((query) => resealRevisions(query, after, resealer));
  }
  return resealer.counts;
}

/** Returns the id of the last record of the batch; null after the last batch. */
async function resealRows(
  query: Query,
  table: Kind,
  after: string,
  resealer: Resealer,
): Promise<string | null> {
  const rows = await query(`SELECT id, body FROM ${table} WHERE id > $1 ORDER BY id LIMIT ${BATCH}`, [after]);
  for (const row of rows) {
    const body = resealer.body(table, row);
    if (body !== row["body"])
      await query(`UPDATE ${table} SET body = $1 WHERE id = $2`, [body, row["id"] ?? null]);
  }
  return rows.length < BATCH ? null : String(rows.at(-1)?.["id"]);
}

async function resealRevisions(query: Query, after: number, resealer: Resealer): Promise<number | null> {
  const hasSecrets = SECRET_KINDS.map((kind) => `records LIKE '%"kind":"${kind}"%'`).join(" OR ");
  const rows = await query(
    `SELECT number, records FROM revisions WHERE number > $1 AND (${hasSecrets}) ORDER BY number LIMIT ${BATCH}`,
    [after],
  );
  for (const { number = null, records } of rows) {
    const resealed = resealer.records(String(records));
    if (resealed !== records)
      await query("UPDATE revisions SET records = $1 WHERE number = $2", [resealed, number]);
  }
  return rows.length < BATCH ? null : Number(rows.at(-1)?.["number"]);
}

class Resealer {
  readonly counts: SecretCounts = { newest: 0, older: 0, plain: 0, unreadable: 0 };
  readonly #cipher: CredentialCipher;
  readonly #mode: Mode;
  /** Results by stored value: a record and its history keep equal values where they had them. A rollback compares them. */
  readonly #resealed = new Map<string, string>();

  constructor(cipher: CredentialCipher, mode: Mode) {
    this.#cipher = cipher;
    this.#mode = mode;
  }

  /** Returns the body of a row, unchanged if all of its secrets are. */
  body(table: Kind, { id, body }: Row): string {
    const text = String(body);
    let isChanged = false;
    const reseal: StoredSecretMapper = (value, boundTo, isSealed) => {
      const result = this.#reseal(value, boundTo, isSealed);
      isChanged ||= result !== null;
      return result ?? value;
    };
    // Records were validated before they were written.
    const record = { ...(JSON.parse(text) as RecordOf[Kind]), id: String(id) };
    const resealed = mapSecretsOf(table, record, {
      target: (target, owner) => resealTarget(target, owner, reseal),
      webhook: (holder) => resealWebhook(holder, reseal),
    });
    return isChanged ? JSON.stringify(omit(resealed, "id")) : text;
  }

  records(text: string): string {
    let isChanged = false;
    const changes = rowChangesIn(text).map((change) => {
      const table = SECRET_KINDS.find((each) => each === change.kind);
      if (table === undefined) return change;
      const resealRow = (row: Row | null) => {
        if (row === null) return null;
        const body = this.body(table, row);
        isChanged ||= body !== row["body"];
        return { ...row, body };
      };
      return { ...change, before: resealRow(change.before), after: resealRow(change.after) };
    });
    return isChanged ? JSON.stringify(changes) : text;
  }

  /** Returns null if the value stays as it is. */
  #reseal(stored: string, boundTo: string, isSealed: boolean): string | null {
    let text = stored;
    if (isSealed) {
      try {
        const opened = this.#cipher.open(stored, boundTo);
        this.counts[opened.isNewest ? "newest" : "older"]++;
        if (opened.isNewest || this.#mode !== "all") return null;
        text = opened.text;
      } catch {
        this.counts.unreadable++;
        return null;
      }
    } else {
      this.counts.plain++;
      if (this.#mode === "count") return null;
    }
    const key = `${boundTo}\n${stored}`;
    const known = this.#resealed.get(key) ?? this.#cipher.encrypt(text, boundTo);
    this.#resealed.set(key, known);
    return known;
  }
}
