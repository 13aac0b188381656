import { expect, test } from "bun:test";
import { ReplyKeeper } from "./kept-replies.ts";

test("keeps the last reply of each worker, also after it has ended", () => {
  const keeper = new ReplyKeeper();
  for (const [worker, reply] of [
    [1, "a"],
    [2, "b"],
    [2, "b2"],
    [3, "c"],
  ] as const)
    keeper.keep("topic", worker, reply);
  expect(keeper.collect("topic", 1)).toMatchObject({ running: ["b2", "c"], ended: [] });
  keeper.endWorker(2);
  keeper.endWorker(4);
  expect(keeper.collect("topic", 1)).toMatchObject({ running: ["c"], ended: ["b2"] });
  keeper.keep("topic", 2, "replacement");
  expect(keeper.collect("topic", 1)).toMatchObject({ running: ["c", "replacement"], ended: ["b2"] });
  expect(keeper.collect("another", 1)).toMatchObject({ running: [], ended: [] });
});

test("replies of ended workers are replaced only by a merge of all of them", () => {
  const keeper = new ReplyKeeper();
  keeper.keep("topic", 1, "a");
  keeper.endWorker(1);
  const before = keeper.collect("topic", 3).version;
  keeper.keep("topic", 2, "b");
  keeper.endWorker(2);
  keeper.replaceEnded("topic", before, "without b");
  const { version, ended } = keeper.collect("topic", 3);
  expect(ended).toEqual(["a", "b"]);
  keeper.replaceEnded("topic", version, "a + b");
  keeper.replaceEnded("topic", version, "a + b, late");
  expect(keeper.collect("topic", 3).ended).toEqual(["a + b"]);
});
