import { expect, test } from "bun:test";
import { readPauses } from "./gc-log.ts";

test("returns every pause of the heap that paused most often", () => {
  const log = [
    "[GC<0x405e2608118>: starting 0.063026ms]",
    "Requesting GC because bytes allocated this cycle: 8402058 exceed bytes allowed: 8388608",
    "[GC<0x405e2608118>: START M 8875kb => EdenCollection, a=0kb hf=0.000 26+0 p=4.103588ms (max 4.103588)...]",
    "[GC<0x7f0000000001>: START M 11kb => FullCollection, a=0kb p=9.5ms (max 9.5)...]",
    "[GC<0x405e2608118>: M a=119kb hf=0.036 v=4117kb 0+1 => 10365kb, p=0.757599ms (max 4.103588), cycle 22.4ms END]",
    "GC END!",
    "[GC<0x405e2608118>: epilogue 0.020841ms]",
  ].join("\n");
  expect(readPauses(log)).toEqual([4.103588, 0.757599]);
  expect(readPauses("")).toEqual([]);
});
