// The variables that `gatehouse connect` prints for SDKs: programs without any other setting reach the gateway.
import { join } from "node:path";
import { expect, test } from "bun:test";
import { runCommand } from "../support/run-command.ts";
import { useFakeProvider, useGatehouseProcess } from "../support/use-gatehouse.ts";
import { hasSdk, runProgram } from "./installed-client.ts";
import { connectTo, MODEL } from "./one-rule-gateway.ts";

const provider = await useFakeProvider({ name: "Ada" });
const gatehouse = await useGatehouseProcess();

const CLIENTS = [
  { client: "ai-sdk", packageName: "ai", texts: 3 },
  { client: "langchain", packageName: "@langchain/openai", texts: 2 },
];

for (const { client, packageName, texts } of CLIENTS) {
  const isMissing = !hasSdk(packageName);
  test.skipIf(isMissing)(
    `${client} reads them`,
    async () => {
      provider.behave({ text: "Good day." });
      const key = await connectTo(gatehouse, provider, { provider: "openai", format: "openai" });
      const { stdout } = await runCommand(["connect", client, "--url", gatehouse.proxyUrl, "--key", key], {});
      const variables = Object.fromEntries(new URLSearchParams(stdout.trimEnd().replaceAll("\n", "&")));
      const program = join(import.meta.dir, "programs", `environment-${client}.mjs`);
      const result = await runProgram(["node", program], import.meta.dir, {
        ...variables,
        GATEHOUSE_MODEL: MODEL,
      });
      if (result.code !== 0) throw new Error(result.stderr);
      // The AI SDK prints warnings before.
      const [last = ""] = result.stdout.trim().split("\n").slice(-1);
      expect(JSON.parse(last)).toEqual(new Array(texts).fill("Good day."));
    },
    100_000,
  );
}
