// Reads the pauses of garbage collections from what the runtime reports with BUN_JSC_logGC=1.

/** Returns the milliseconds of each pause of the heap that paused most often: that of the main thread. */
export function readPauses(log: string): number[] {
  const byHeap = new Map<string, number[]>();
  // A collection is a line per pause: "[GC<0x40>: START M 8875kb … p=4.103588ms (max 4.103588)...]"
  for (const [, heap = "", milliseconds] of log.matchAll(/\[GC<(0x[0-9a-f]+)>: [^\n]*?\bp=([\d.]+)ms/g)) {
    const pauses = byHeap.get(heap) ?? [];
    pauses.push(Number(milliseconds));
    byHeap.set(heap, pauses);
  }
  return [...byHeap.values()].sort((a, b) => b.length - a.length)[0] ?? [];
}
