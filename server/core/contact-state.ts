/** The availability and focus of a contact, as a peer reports them. */

/** The channels that reach an address. Null: the provider cannot say. */
export interface Availability {
  imessage: boolean | null;
  facetime: boolean | null;
}

/** Whether a contact has silenced notifications and, if known, in which focus mode. */
export interface FocusState {
  focused: boolean;
  focusMode?: string;
}
