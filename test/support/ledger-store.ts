// A database for ledgers in Redis that tests create without a gateway.
import { join } from "node:path";
import type { AccountJournal } from "../../src/ledger/spent-journal.ts";
import { CredentialCipher } from "../../src/store/credential-cipher.ts";
import { openStore } from "../../src/store/sql-store.ts";
import { temporaryDirectory } from "./temporary-directory.ts";

export interface LedgerStore {
  readonly journal: AccountJournal;
  close(): Promise<void>;
}

/** Opens the database at a URL, or a new one in a temporary directory. */
export function openLedgerStore(url?: string): LedgerStore {
  const found = url ?? `sqlite://${join(temporaryDirectory(), "gatehouse.db")}`;
  const store = openStore(found, new CredentialCipher("a secret of a test"), undefined, undefined, true);
  return { journal: store.spending, close: () => store.close() };
}
