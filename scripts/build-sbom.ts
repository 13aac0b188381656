// `npm run sbom`: writes dist/gatehouse.cdx.json, the SBOM of the production dependencies. `-- --outfile PATH` writes another file.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import lock from "../package-lock.json" with { type: "json" };
import { createSbom } from "./sbom.ts";

const { values } = parseArgs({
  options: {
    outfile: { type: "string", default: join(import.meta.dir, "../dist/gatehouse.cdx.json") },
  },
});
mkdirSync(dirname(values.outfile), { recursive: true });
writeFileSync(values.outfile, `${JSON.stringify(createSbom(lock), null, 2)}\n`);
