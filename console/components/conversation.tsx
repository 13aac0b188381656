// Turns of a conversation: the message of the user, and the responses of one or two models side by side.
import type { JSX } from "preact";
import type { AnsweredTurn } from "../state/use-conversation.ts";
import { ChatResponse } from "./chat-response.tsx";
import { Empty } from "./notice.tsx";

interface ConversationProps {
  readonly gateway: string;
  readonly turns: readonly AnsweredTurn[];
  readonly onResult: (side: number, callId: string, text: string) => void;
}

export function Conversation({ gateway, turns, onResult }: ConversationProps): JSX.Element {
  if (turns.length === 0)
    return <Empty title="No messages yet">Send a message to see the response here.</Empty>;
  return (
    <ol class="turns" aria-label="Conversation">
      {turns.map(({ id, user, replies }) => {
        const isLast = id === turns.at(-1)?.id;
        return (
          <li key={id}>
            {user !== null && <p class="user-message">{user}</p>}
            <div class={replies.length > 1 ? "answers compared" : "answers"}>
              {replies.map((answer, side) => (
                <ChatResponse
                  key={side}
                  gateway={gateway}
                  answer={answer}
                  label={replies.length > 1 ? `Response ${side + 1}` : "Response"}
                  onResult={isLast ? (callId, text) => onResult(side, callId, text) : null}
                />
              ))}
            </div>
          </li>
        );
      })}
    </ol>
  );
}
