// gatehouse token: prints an admin token and nothing else.
import { parseArguments, wholeNumber } from "./arguments.ts";
import type { Command } from "./command.ts";
import { mintToken, requireServerSecret } from "./mint-token.ts";

const DAY_SECONDS = 86_400;
const TEN_YEARS_SECONDS = 3650 * DAY_SECONDS;

export const token: Command = {
  summary: "print an admin token for the Admin API",
  help: `Usage: gatehouse token [--seconds N] [--json]

Prints a token signed with SERVER_SECRET_KEY, or with the secret that the server generated in DATA_DIR.

  --seconds N  lifetime of the token; default ${DAY_SECONDS}, one day
  --json       print {"token", "expires_at"}`,
  run: async (args) => {
    const { values } = parseArguments(args, {
      options: { seconds: { type: "string" }, json: { type: "boolean" } },
    });
    const bounds = { min: 1, max: TEN_YEARS_SECONDS };
    const seconds = wholeNumber("--seconds", values.seconds, DAY_SECONDS, bounds);
    const minted = await mintToken(requireServerSecret(""), seconds);
    const expires_at = new Date(Date.now() + seconds * 1000).toISOString();
    console.log(values.json === true ? JSON.stringify({ token: minted, expires_at }) : minted);
    return 0;
  },
};
