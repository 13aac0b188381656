// Runs the conversation of the playground: sends each turn to one or two models and keeps their responses.
import { useEffect, useRef, useState } from "preact/hooks";
import type { RequestRecord } from "../api/item-types.ts";
import { INITIAL_PROGRESS, sendChat, type ChatCall, type ChatProgress } from "./chat.ts";
import type { Reply, Turn } from "./conversation.ts";
import { waitForRecord } from "./playground.ts";

export interface Answer extends Reply {
  /** The requested model; empty for that of the target. */
  readonly model: string;
  readonly progress: ChatProgress;
  /** The request's log entry; null until it is written. */
  readonly record: RequestRecord | null;
  readonly isRunning: boolean;
}

export interface AnsweredTurn extends Turn<Answer> {
  readonly id: number;
}

interface Conversation {
  readonly turns: readonly AnsweredTurn[];
  readonly isRunning: boolean;
  /** Sends one call per model. */
  readonly send: (user: string | null, calls: readonly ModelCall[]) => void;
  readonly stop: () => void;
  readonly clear: () => void;
  /** Sets what a tool returned, in the last turn. */
  readonly setResult: (side: number, callId: string, text: string) => void;
}

interface ModelCall {
  readonly model: string;
  readonly call: ChatCall;
}

export function useConversation(gateway: string): Conversation {
  const [turns, setTurns] = useState<readonly AnsweredTurn[]>([]);
  const abort = useRef<AbortController | null>(null);
  const lastId = useRef(0);
  useEffect(() => () => abort.current?.abort(), []);
  const change = (id: number, side: number, update: (answer: Answer) => Partial<Answer>) =>
    setTurns((before) =>
      before.map((turn) =>
        turn.id === id
          ? {
              ...turn,
              replies: turn.replies.map((answer, each) =>
                each === side ? { ...answer, ...update(answer) } : answer,
              ),
            }
          : turn,
      ),
    );
  const run = async (id: number, side: number, call: ChatCall, signal: AbortSignal) => {
    const { headers } = await sendChat(call, signal, (progress) =>
      change(id, side, () => ({ progress, text: progress.text, toolCalls: progress.toolCalls })),
    );
    change(id, side, () => ({ isRunning: false }));
    const requestId = headers?.get("x-request-id") ?? null;
    if (requestId === null) return;
    const record = await waitForRecord(gateway, requestId);
    change(id, side, () => ({ record }));
  };
  return {
    turns,
    isRunning: turns.at(-1)?.replies.some(({ isRunning }) => isRunning) ?? false,
    send(user, calls) {
      const controller = new AbortController();
      abort.current = controller;
      const id = ++lastId.current;
      const replies = calls.map(({ model }) => newAnswer(model));
      setTurns((before) => [...before, { id, user, replies }]);
      for (const [side, { call }] of calls.entries()) void run(id, side, call, controller.signal);
    },
    stop: () => abort.current?.abort(),
    clear() {
      abort.current?.abort();
      setTurns([]);
    },
    setResult(side, callId, text) {
      const id = turns.at(-1)?.id ?? 0;
      change(id, side, ({ results }) => ({ results: { ...results, [callId]: text } }));
    },
  };
}

function newAnswer(model: string): Answer {
  return {
    model,
    progress: INITIAL_PROGRESS,
    record: null,
    isRunning: true,
    text: "",
    toolCalls: [],
    results: {},
  };
}
