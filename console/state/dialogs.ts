// Questions and short messages that may come from anywhere; components/dialog-host.tsx shows them.
import { signal } from "@preact/signals";

export interface Question {
  readonly title: string;
  readonly text: string;
  readonly confirm: string;
  readonly isDangerous?: boolean;
  /** Must be typed before the answer can be yes. */
  readonly typed?: string | undefined;
  /** Done on yes, while the dialog waits; what it throws is shown there and the question stays. */
  readonly action?: () => Promise<unknown>;
  /** Offered after the action was refused: a stronger one, or null. */
  readonly after?: (error: Error) => Question | null;
}

export interface OpenQuestion extends Question {
  readonly answer: (yes: boolean) => void;
}

export const question = signal<OpenQuestion | null>(null);

/** True once the person said yes and the action, if any, went through. */
export function ask(asked: Question): Promise<boolean> {
  question.value?.answer(false);
  return new Promise((resolve) => {
    question.value = {
      ...asked,
      answer: (yes) => {
        question.value = null;
        resolve(yes);
      },
    };
  });
}

export interface Message {
  readonly id: number;
  readonly text: string;
}

export const messages = signal<readonly Message[]>([]);
const SHOWN_MS = 5000;
let lastId = 0;

/** Says in a corner, and to screen readers, that something was done. */
export function say(text: string): void {
  const id = ++lastId;
  messages.value = [...messages.value.slice(-3), { id, text }];
  setTimeout(() => (messages.value = messages.value.filter((message) => message.id !== id)), SHOWN_MS);
}
