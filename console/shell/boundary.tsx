/** Shows a screen's bug in place of the screen, so that the shell stays. */

import { Component, type ReactNode } from "react";
import { Failed } from "../parts/empty.tsx";

interface BoundaryProps {
  /** Address of the page: another one is tried anew. */
  at: string;
  children: ReactNode;
}

interface BoundaryState {
  error: unknown;
  at: string;
}

/** Catches what its children throw while they render. A part of the console that cannot be loaded is one, too. */
export class Boundary extends Component<BoundaryProps, BoundaryState> {
  override state: BoundaryState = { error: null, at: this.props.at };

  static getDerivedStateFromError(error: unknown) {
    return { error };
  }

  static getDerivedStateFromProps({ at }: BoundaryProps, state: BoundaryState) {
    return at === state.at ? null : { error: null, at };
  }

  override render() {
    if (this.state.error === null) return this.props.children;
    return <Failed error={this.state.error} onRetry={() => location.reload()} />;
  }
}
