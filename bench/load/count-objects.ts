// Loaded into a measured process before its own code: writes the number of objects in its heap, by kind, to the file
// `${BENCH_OBJECTS}-${number}` on each SIGUSR2.
import { heapStats } from "bun:jsc";
import { writeFileSync } from "node:fs";

let reports = 0;
process.on("SIGUSR2", () => {
  writeFileSync(
    `${process.env["BENCH_OBJECTS"] ?? ""}-${reports++}`,
    JSON.stringify(heapStats().objectTypeCounts),
  );
});
