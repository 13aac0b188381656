// gatehouse token: prints an admin token and nothing else.
import type { Command } from "./command.ts";
import { mintToken, requireServerSecret } from "./mint-token.ts";
import { Words } from "./words.ts";

const DAY_SECONDS = 86_400;
const TEN_YEARS_SECONDS = 3650 * DAY_SECONDS;

export const token: Command = {
  summary: "print an admin token for the Admin API",
  help: `Usage: gatehouse token [--seconds N] [--json]

Prints a token signed with SERVER_SECRET_KEY, or with the secret that the server generated in DATA_DIR.

  --seconds N  how long it is good for; default ${DAY_SECONDS}, a day
  --json       print {"token", "expires_at"}`,
  run: async (given) => {
    const words = new Words(given, { values: ["--seconds"], switches: ["--json"] });
    const seconds = words.number("--seconds", DAY_SECONDS, 1, TEN_YEARS_SECONDS);
    const minted = await mintToken(requireServerSecret(""), seconds);
    const expires_at = new Date(Date.now() + seconds * 1000).toISOString();
    console.log(words.has("--json") ? JSON.stringify({ token: minted, expires_at }) : minted);
    return 0;
  },
};
