// A service account's key file with a key of its own, as Google's console creates it.
import { generateKeyPairSync, type KeyObject } from "node:crypto";

interface ServiceAccount {
  /** The text of the key file. */
  readonly text: string;
  readonly email: string;
  readonly privateKeyText: string;
  readonly publicKey: KeyObject;
}

export function createServiceAccount(fields: Readonly<Record<string, unknown>> = {}): ServiceAccount {
  const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const privateKeyText = privateKey.export({ type: "pkcs8", format: "pem" });
  const email = "gateway@project.iam.gserviceaccount.example";
  const file = {
    type: "service_account",
    project_id: "project",
    private_key_id: "key-id-1",
    private_key: privateKeyText,
    client_email: email,
    token_uri: "https://attacker.example/token",
    ...fields,
  };
  return { text: JSON.stringify(file, null, 2), email, privateKeyText, publicKey };
}
