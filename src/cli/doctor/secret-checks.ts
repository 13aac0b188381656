// Checks how the secrets in the database are encrypted: whether an older key of ENCRYPTION_KEY is still needed.
import type { Settings } from "../../config/settings.ts";
import { CredentialCipher } from "../../store/credential-cipher.ts";
import { countSecrets } from "../../store/rewrap.ts";
import { databaseUrl } from "../store-access.ts";
import { fail, ok, warn, type CheckResult } from "./check-result.ts";
import { cipherForStored } from "./store-checks.ts";

export async function checkSecrets(settings: Settings): Promise<CheckResult[]> {
  const cipher = await cipherForStored("secrets", "none are stored yet", settings);
  if (!(cipher instanceof CredentialCipher)) return [cipher];
  const counts = await countSecrets(databaseUrl(settings), cipher).catch(() => null);
  // checkProviders reports a wrong key with its fix.
  if (counts === null) return [];
  const { newest, older, plain, unreadable, isCheckNewest } = counts;
  const results: CheckResult[] = [];
  if (unreadable > 0) {
    const detail = `${unreadable} stored secrets cannot be decrypted with any key of ENCRYPTION_KEY`;
    results.push(fail("secrets", detail, "add the key that they were encrypted with to ENCRYPTION_KEY"));
  }
  if (older > 0 || !isCheckNewest) {
    const detail = `${older} of ${newest + older + plain} stored secrets are encrypted with an older key`;
    results.push(
      warn("secrets", detail, "run gatehouse rewrap before you remove the key from ENCRYPTION_KEY"),
    );
  }
  if (plain > 0)
    results.push(warn("secrets", `${plain} stored secrets are not encrypted`, "run gatehouse rewrap"));
  if (results.length > 0) return results;
  return [ok("secrets", `${newest} stored, all encrypted with the newest key`)];
}
