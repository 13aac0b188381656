// Runs inside an isolate: loads the plugin, creates its instances, and calls their hooks as the gateway asks.
import { isThenable } from "../../base/value-or-promise.ts";
import { OffLoop } from "../../off-loop/off-loop.ts";
import { HOOK_NAMES } from "../../sdk/hook-table.ts";
import type { PluginDefinition, PluginHooks, PluginResponse } from "../../sdk/index.ts";
import { whenReady } from "../../sdk/when-ready.ts";
import { responseArgument, type IsolatedCall } from "./isolated-context.ts";
import { createContext } from "./isolated-contexts.ts";
import { createHost, type HostQuestions } from "./isolated-host.ts";
import { lowerPriority } from "./lower-priority.ts";
import {
  fromErrorData,
  packetOf,
  toErrorData,
  type ErrorData,
  type FromIsolate,
  type Packet,
  type Question,
  type ToIsolate,
} from "./messages.ts";

/** The connection of an isolate to the gateway. */
interface IsolateConnection {
  send(packet: Packet): void;
  /** Blocks until the reply to a question arrives. Other packets are kept and handled later. */
  waitFor(isReply: (packet: Packet) => boolean): Packet;
}

type Reply = Extract<ToIsolate, { type: "reply" }>;
type Message<Type extends ToIsolate["type"]> = Extract<ToIsolate, { type: Type }>;
type Hooks = Readonly<Record<string, unknown>> & PluginHooks;

/** Notes of requests that the gateway has not released yet; beyond it, the oldest are dropped. */
const MAX_NOTES = 20_000;

export class IsolateRunner {
  readonly #connection: IsolateConnection;
  readonly #load: (builtin: string | null, source: Uint8Array | undefined) => Promise<PluginDefinition>;
  #definition: Promise<PluginDefinition> | null = null;
  readonly #instances = new Map<number, Promise<Hooks>>();
  readonly #created = new Map<number, Hooks>();
  readonly #notes = new Map<number, Map<string, unknown>>();
  readonly #questions = new Map<number, PromiseWithResolvers<unknown>>();
  #lastQuestion = 0;
  #offLoop: OffLoop | null = null;

  constructor(
    connection: IsolateConnection,
    load: (builtin: string | null, source: Uint8Array | undefined) => Promise<PluginDefinition>,
  ) {
    this.#connection = connection;
    this.#load = load;
  }

  handle(packet: Packet): void {
    const message = JSON.parse(packet.text) as ToIsolate;
    if (message.type === "call") this.#call(message, packet.blobs[0] ?? null);
    else if (message.type === "reply") this.#settle(message);
    else if (message.type === "load") void this.#loadPlugin(message.builtin, packet.blobs[0]);
    else if (message.type === "create") this.#instances.set(message.instance, this.#create(message));
    else if (message.type === "stop") void this.#stop(message.instances);
    else if (message.type === "ping") this.#send({ type: "pong" });
    else this.#release(message);
  }

  async #loadPlugin(builtin: string | null, source: Uint8Array | undefined): Promise<void> {
    this.#definition = this.#load(builtin, source);
    try {
      await this.#definition;
      this.#send({ type: "loaded" });
    } catch (error) {
      this.#send({ type: "not_loaded", error: toErrorData(error) });
    }
  }

  async #create({ instance, instanceId, settings, isExplaining }: Message<"create">): Promise<Hooks> {
    try {
      const definition = await this.#definition;
      if (definition === null) throw new Error("no plugin is loaded");
      const host = createHost(instanceId, isExplaining, this.#askAs(instance), () => this.#openOffLoop());
      // Parsed here: what a schema makes of the settings, such as a Map, need not survive JSON.
      const created = definition.create(definition.settings.parse(settings), host) as unknown;
      if (typeof created !== "object" || created === null)
        throw new Error("create() must return an object of hooks");
      const hooks = whenReady(created) as Hooks;
      const names = [...HOOK_NAMES, "stop"].filter((name) => typeof (created as Hooks)[name] === "function");
      this.#created.set(instance, hooks);
      this.#send({ type: "created", instance, hooks: names, waits: hooks.ready !== undefined });
      if (hooks.ready === undefined) lowerPriority();
      else this.#reportReady(instance, hooks.ready);
      return hooks;
    } catch (error) {
      this.#send({ type: "not_created", instance, error: toErrorData(error) });
      return {};
    }
  }

  /** A busy machine must not start isolates more slowly than before: the priority is lowered when the plugin is ready. */
  #reportReady(instance: number, ready: Promise<unknown>): void {
    ready.then(lowerPriority, lowerPriority);
    ready.then(
      () => this.#send({ type: "ready", instance, error: null }),
      (error: unknown) => this.#send({ type: "ready", instance, error: toErrorData(error) }),
    );
  }

  /** Most hooks are synchronous: these are called and reported without a promise. */
  #call(message: Message<"call">, bytes: Uint8Array | null): void {
    const call: IsolatedCall = {
      data: message.context,
      bytes,
      ask: (method, ...args) => this.#askNow(message.instance, message.call, method, args),
      askLater: (method, ...args) => this.#askLater(message.instance, message.call, method, args),
      notes: () => this.#notesOf(message.notes),
      callNotes: () => this.#notesOf(message.callNotes),
      effects: [],
      blobs: [],
      decisions: [],
      hasEnded: false,
    };
    const hooks = this.#created.get(message.instance);
    try {
      const result: unknown =
        hooks === undefined
          ? this.#instances.get(message.instance)?.then((created) => runHook(created, message, call))
          : runHook(hooks, message, call);
      if (!isThenable(result)) this.#done(message, call, null);
      else {
        this.#send({ type: "waits", call: message.call });
        void result.then(
          () => this.#done(message, call, null),
          (error: unknown) => this.#done(message, call, error ?? new Error("the hook failed")),
        );
      }
    } catch (error) {
      this.#done(message, call, error ?? new Error("the hook failed"));
    }
  }

  #done({ call, notes, callNotes }: Message<"call">, done: IsolatedCall, error: unknown): void {
    const { effects, blobs, decisions } = done;
    const hasNotes = [notes, callNotes].some((id) => (this.#notes.get(id)?.size ?? 0) > 0);
    const failure = error === null ? null : toErrorData(error);
    const isHeld = error === null && decisions.length > 0;
    done.hasEnded = true;
    try {
      this.#send({ type: "done", call, effects, error: failure, hasNotes, isHeld }, blobs);
    } catch (unsendable) {
      // An argument that JSON cannot have, such as a cycle or a BigInt.
      const unsent = { effects: [], error: toErrorData(unsendable), isHeld: false };
      this.#send({ type: "done", call, hasNotes, ...unsent });
      return;
    }
    effects.length = blobs.length = 0;
    if (isHeld) void this.#decide(call, done);
  }

  /** Sends what the plugin decides about the response that waits for it. */
  async #decide(call: number, held: IsolatedCall): Promise<void> {
    const { effects, blobs, decisions } = held;
    let response: unknown = null;
    let error: ErrorData | null = null;
    try {
      const decided = await firstResponse(decisions);
      if (decided !== null) response = responseArgument(held, decided);
    } catch (failure) {
      error = toErrorData(failure);
    }
    try {
      this.#send({ type: "decided", call, response, effects, error }, blobs);
    } catch (unsendable) {
      this.#send({ type: "decided", call, response: null, effects: [], error: toErrorData(unsendable) });
    }
  }

  async #stop(instances: readonly number[]): Promise<void> {
    const stopping = instances.map((id) => Promise.try(() => this.#created.get(id)?.stop?.()));
    const errors = (await Promise.allSettled(stopping)).flatMap((result) =>
      result.status === "rejected" ? [toErrorData(result.reason)] : [],
    );
    this.#send({ type: "stopped", errors });
  }

  #notesOf(id: number): Map<string, unknown> {
    const known = this.#notes.get(id);
    if (known !== undefined) return known;
    const notes = new Map<string, unknown>();
    this.#notes.set(id, notes);
    if (this.#notes.size > MAX_NOTES)
      for (const oldest of this.#notes.keys()) {
        this.#notes.delete(oldest);
        break;
      }
    return notes;
  }

  #release({ instances, notes }: Message<"release">): void {
    for (const id of instances) {
      this.#instances.delete(id);
      this.#created.delete(id);
    }
    for (const id of notes) this.#notes.delete(id);
  }

  #askAs(instance: number): HostQuestions {
    return {
      now: (method, args) => this.#askNow(instance, 0, method, args),
      later: (method, args) => this.#askLater(instance, 0, method, args),
      notify: (method, args) => this.#send(questionOf(instance, 0, method, args)),
    };
  }

  #askLater(instance: number, call: number, method: string, args: readonly unknown[]): Promise<unknown> {
    const question = ++this.#lastQuestion;
    const waiting = Promise.withResolvers<unknown>();
    this.#questions.set(question, waiting);
    this.#send({ ...questionOf(instance, call, method, args), question });
    return waiting.promise;
  }

  #askNow(instance: number, call: number, method: string, args: readonly unknown[]): unknown {
    const question = ++this.#lastQuestion;
    this.#send({ ...questionOf(instance, call, method, args), question, isBlocking: true });
    let reply: Reply | null = null;
    this.#connection.waitFor(({ text }) => {
      const message = JSON.parse(text) as ToIsolate;
      if (message.type !== "reply" || message.question !== question) return false;
      reply = message;
      return true;
    });
    return valueOf(reply);
  }

  #settle(reply: Reply): void {
    const waiting = this.#questions.get(reply.question);
    this.#questions.delete(reply.question);
    try {
      waiting?.resolve(valueOf(reply));
    } catch (error) {
      waiting?.reject(error);
    }
  }

  #openOffLoop(): OffLoop {
    return (this.#offLoop ??= new OffLoop());
  }

  #send(message: FromIsolate, blobs: readonly Uint8Array[] = []): void {
    this.#connection.send(packetOf(message, blobs));
  }
}

function runHook(hooks: Hooks, { hook, instance }: Message<"call">, call: IsolatedCall): unknown {
  if (hooks[hook] === undefined) throw new Error(`instance ${instance} has no hook ${hook}`);
  // The class of the context is that of the hook.
  return (hooks as Record<string, (context: unknown) => unknown>)[hook]?.(createContext(hook, call));
}

/** Resolves to the first response in the order of the decisions, or to null. */
async function firstResponse(
  decisions: readonly Promise<PluginResponse | null>[],
): Promise<PluginResponse | null> {
  for (const decision of decisions) {
    const response = await decision;
    if (response !== null) return response;
  }
  return null;
}

function questionOf(instance: number, call: number, method: string, args: readonly unknown[]): Question {
  return { type: "question", question: 0, isBlocking: false, instance, call, method, args };
}

function valueOf(reply: Reply | null): unknown {
  if (reply?.error !== undefined) throw fromErrorData(reply.error);
  // JSON has no undefined.
  return reply?.value;
}
