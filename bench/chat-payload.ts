// The chat completion request of the benchmarks, ordinary prose of any size, and its response. Every text has places for a
// number (NUMBER_MARK), so that a load generator can send texts that it has never sent before.
import { LETTER, PARAGRAPHS } from "./prose.ts";

export const MODEL = "gpt-4o-mini";
export const CHAT_PATH = "/v1/chat/completions";

/** Replaced by a number of the same length: load/chat.lua replaces it in every request. */
const NUMBER_MARK = "#".repeat(12);

interface Message {
  readonly role: string;
  readonly content: string;
}

/** The sizes of messages, used in turn: those of agents range from a short question to a page that a tool has read. */
const MESSAGE_BYTES = [800, 2400, 1200, 4000, 1600, 3200];
/** A text has a number about every so many bytes, so that no long part of it occurs in two requests. */
const BYTES_PER_NUMBER = 800;
/** Smaller bodies consist of the letter. */
const MAX_LETTER_BYTES = 1100;

const sentencesOf = (text: string) => text.split(/(?<=[.?!]"?) /);
const SENTENCES = [LETTER, ...PARAGRAPHS].flatMap(sentencesOf);
/** Sentences between the beginnings of two messages; has no common divisor with the number of sentences. */
const STRIDE = 37;

/** Returns a body of about this many bytes, always the same. */
export function chatBody(bytes = 1024): string {
  return withNumber(chatTemplate(bytes), 0);
}

/** Returns the template with a number in place of each NUMBER_MARK. */
export function withNumber(template: string, number: number): string {
  return template.replaceAll(NUMBER_MARK, String(number).padStart(NUMBER_MARK.length, "0"));
}

/** Returns a body of about this many bytes, with a NUMBER_MARK in every message. */
export function chatTemplate(bytes: number): string {
  return serialize(messagesOf(bytes));
}

/** Returns the bodies of a conversation: each repeats the messages of the previous one and adds about `growth` bytes. */
export function conversationTemplates(bytes: number, growth: number, turns: number): string[] {
  const messages = messagesOf(bytes);
  return Array.from({ length: turns }, (_, turn) => {
    if (turn > 0) {
      const first = messageOf(messages.length, growth * 0.4);
      messages.push(first, messageOf(messages.length + 1, growth - sizeOf(first)));
    }
    return serialize(messages);
  });
}

function serialize(messages: readonly Message[]): string {
  return JSON.stringify({ model: MODEL, messages, max_tokens: 256, temperature: 0.7 });
}

function messagesOf(bytes: number): Message[] {
  const messages = [{ role: "system", content: `You answer the letters of a museum. Case ${NUMBER_MARK}.` }];
  if (bytes <= MAX_LETTER_BYTES) {
    const content = withNotes(sentencesOf(LETTER), 1, LETTER.length / 2);
    return [...messages, { role: "user", content }];
  }
  let left = bytes - serialize(messages).length;
  for (;;) {
    const index = messages.length;
    const wanted = MESSAGE_BYTES[index % MESSAGE_BYTES.length]!;
    const isLast = left < wanted + MESSAGE_BYTES[0]!;
    const message = messageOf(index, isLast ? left : wanted);
    messages.push(message);
    if (isLast) return messages;
    left -= sizeOf(message);
  }
}

/** Returns a message of this many bytes when serialized; the index makes it different from all others of the body. */
function messageOf(index: number, bytes: number): Message {
  const role = index % 2 === 1 ? "user" : "assistant";
  const sentences: string[] = [];
  for (let size = 0, next = index * STRIDE; size < bytes; next++) {
    const sentence = SENTENCES[next % SENTENCES.length]!;
    sentences.push(sentence);
    size += sentence.length + 1;
  }
  const content = withNotes(sentences, index, Math.min(BYTES_PER_NUMBER, bytes / 2));
  const excess = Math.max(0, Math.round(sizeOf({ role, content }) - bytes));
  const cut = content.slice(0, content.length - excess);
  // A mark that was cut in two would remain in the text.
  return { role, content: cut.replace(/(?<!#)#{1,11}$/, "") };
}

/** Adds a sentence with a NUMBER_MARK after each `distance` bytes, except at the end. */
function withNotes(sentences: readonly string[], index: number, distance: number): string {
  const note = `This is note ${String(index).padStart(4, "0")}-${NUMBER_MARK}.`;
  let [text, unnumbered] = ["", 0];
  for (const sentence of sentences) {
    if (unnumbered >= distance) {
      text += `${note} `;
      unnumbered = 0;
    }
    text += `${sentence} `;
    unnumbered += sentence.length + 1;
  }
  return text.trimEnd();
}

/** The serialized size with the comma before it. */
function sizeOf(message: Message): number {
  return JSON.stringify(message).length + 1;
}

export const MODEL_LIST = JSON.stringify({
  object: "list",
  data: [{ id: MODEL, object: "model", created: 1_760_000_000, owned_by: "openai" }],
});

const CONTENT =
  "The lighthouse is open from ten to five every day and rests in January and February. The desk in the hall " +
  "knows about everything else. There is a room to draw in on the first floor.";

export const CHAT_RESPONSE = chatResponse(CONTENT);
/** A response of about 1 kB. */
export const LONG_CHAT_RESPONSE = chatResponse(Array.from({ length: 4 }, () => CONTENT).join(" "));

function chatResponse(content: string): string {
  return JSON.stringify({
    id: "chatcmpl-0123456789",
    object: "chat.completion",
    created: 1_760_000_000,
    model: MODEL,
    choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }],
    usage: { prompt_tokens: 180, completion_tokens: 44, total_tokens: 224 },
  });
}
