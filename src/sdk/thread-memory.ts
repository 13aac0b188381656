// The memory of texts in a worker thread: what a thread remembers is known to that thread only, and is forgotten when the thread ends.
import { TextMemories, type TextMemory, type TextScope } from "../base/text-memories.ts";

let memories: TextMemories | null = null;

/** For tasks: returns the memory of this thread for the `scope` of a memory that the host of the plugin returned. */
export function openTextMemory(scope: TextScope): TextMemory {
  return (memories ??= new TextMemories()).open(scope);
}
