// What contains a form of a record, if it is not the record's own page.
import { createContext } from "preact";

interface FormHostActions {
  /** The record was saved or deleted. */
  readonly onDone: () => void;
  readonly onCancel: () => void;
}

/** Null on the record's own page. */
export const FormHost = createContext<FormHostActions | null>(null);

/** A record's form outside of its page. */
export interface EditorProps {
  readonly gateway: string;
  readonly id: string;
}
