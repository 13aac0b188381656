// Run as a separate process: opens the store at argv[2], creates argv[3] gateways, and prints their ids and revisions as JSON.
import { CredentialCipher } from "../../src/store/credential-cipher.ts";
import { openStore } from "../../src/store/sql-store.ts";
import { whenOpen } from "./store-fixture.ts";
import { ENCRYPTION_SECRET, gatewayRecord } from "./store-records.ts";

const [, , url = "", count = "0"] = process.argv;
const store = openStore(url, new CredentialCipher(ENCRYPTION_SECRET));
await whenOpen(store);
const written: { id: string; revision: number }[] = [];
for (let index = 0; index < Number(count); index++) {
  const gateway = gatewayRecord({ name: `of process ${process.pid}` });
  const { revision } = await store.write((transaction) => transaction.insert("gateways", gateway));
  written.push({ id: gateway.id, revision });
}
await store.close();
process.stdout.write(JSON.stringify(written));
