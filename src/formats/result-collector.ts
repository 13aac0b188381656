// Collects the results of tools in a request, each as a whole: a condition of a policy is about the result, not about one of its strings.
import { foldCase } from "../base/fold-case.ts";
import type { JsonNode } from "../base/json-nodes.ts";
import type { FoundBlock } from "./request-text.ts";

export interface FoundResult {
  readonly tools: Set<string>;
  readonly blocks: FoundBlock[];
}

export class ResultCollector {
  readonly list: FoundResult[] = [];
  #open: FoundResult | null = null;
  /** Whether a block has been added that contains what is being walked. */
  isInBlock = false;

  /** What `walk` finds belongs to one result. Within another result, it is a part of that one, and its tools count, too. */
  within(tools: Set<string>, walk: () => void): void {
    if (this.#open !== null) {
      for (const tool of tools) this.#open.tools.add(tool);
      walk();
      return;
    }
    this.#open = { tools, blocks: [] };
    this.list.push(this.#open);
    walk();
    this.#open = null;
  }

  /** What `walk` finds is within the block. */
  add(block: FoundBlock, walk: () => void): void {
    const isOuter = !this.isInBlock;
    this.addText(block);
    this.isInBlock = true;
    walk();
    if (isOuter) this.isInBlock = false;
  }

  addText(block: FoundBlock): void {
    if (!this.isInBlock) this.#open?.blocks.push(block);
  }
}

/** Members with which clients of Gemini wrap a result. */
const WRAPPERS = new Set(["output", "result", "error", "content"]);

/** Returns the content of a response of Gemini: the value of its only member, if that wraps it. Some clients add the name of the function. */
export function contentOfResponse(response: JsonNode, isToolName: (node: JsonNode) => boolean): JsonNode {
  let content: JsonNode | null = null;
  for (const [index, child] of response.children.entries()) {
    const key = foldCase(response.keys[index] ?? "");
    if (key === "name" && isToolName(child)) continue;
    if (content !== null || !WRAPPERS.has(key)) return response;
    content = child;
  }
  return content ?? response;
}
