// A process of its own that opens the store of argv[2] and makes argv[3] gateways; prints their ids and revisions as JSON.
import { CredentialCipher } from "../../src/store/credential-cipher.ts";
import { openStore } from "../../src/store/sql-store.ts";
import { ENCRYPTION_SECRET, gatewayRecord } from "./store-records.ts";

const [, , url = "", count = "0"] = process.argv;
const store = openStore(url, new CredentialCipher(ENCRYPTION_SECRET));
const written: { id: string; revision: number }[] = [];
for (let made = 0; made < Number(count); made++) {
  const gateway = gatewayRecord({ name: `of process ${process.pid}` });
  const { revision } = await store.write((transaction) => transaction.insert("gateways", gateway));
  written.push({ id: gateway.id, revision });
}
await store.close();
process.stdout.write(JSON.stringify(written));
