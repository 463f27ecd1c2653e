/** Lets a scripted line note some messages before it sends them, and judges at each lookup that the note is on disk. */

import type { ProviderName } from "../../sdk/wire.ts";
import type { Outbound, Provider, ProviderContext } from "../../server/providers/provider.ts";
import type { ScriptedCarrier } from "./carrier.ts";
import type { Life } from "./life.ts";

interface LineOptions extends Pick<ProviderContext, "instanceId" | "attempts" | "changed" | "fault"> {
  life: Life;
  name: ProviderName;
}

/** The notes of a run, over all lives. */
export class Notes {
  /** The notes that the service had on disk, by attempt. */
  readonly #written = new Map<string, string>();

  /** The line of an instance, for one life. The instance of the sandbox has both channels. */
  line(carrier: ScriptedCarrier, { life, name, instanceId, attempts, changed, fault }: LineOptions): Provider {
    const line = carrier.provider(life, instanceId, name === "sandbox", changed);
    const send: Provider["send"] = async (message, abort) => {
      carrier.give(message);
      try {
        if (isNoted(message)) await this.#note(message, attempts);
      } catch {
        // Nothing is sent without its note.
        return { outcome: "deferred", retryAfterMs: null, reason: "the attempt could not be noted" };
      }
      return line.send(message, abort);
    };
    const own: Partial<Provider> = { send };
    const reconcile = line.reconcile?.bind(line);
    if (reconcile !== undefined) {
      own.reconcile = async (message) => {
        const isLost = await this.#isLost(message, attempts);
        if (isLost) fault(new Error(`the note about an attempt of ${message.messageId} is lost`));
        return reconcile(message);
      };
    }
    return Object.defineProperty({ ...line, ...own }, "isUp", { get: () => line.isUp !== false });
  }

  async #note(message: Outbound, attempts: ProviderContext["attempts"]): Promise<void> {
    for (const text of ["asked", "about to send"]) {
      await attempts.note(message, text);
      this.#written.set(nameOf(message), text);
    }
  }

  async #isLost(message: Outbound, attempts: ProviderContext["attempts"]): Promise<boolean> {
    const wanted = this.#written.get(nameOf(message));
    if (wanted === undefined) return false;
    const isOf = (attempt: { messageId: string; attemptedAt: number }) => nameOf(attempt) === nameOf(message);
    const found = (await attempts.noted()).find(isOf);
    // A second note may be on disk without an answer.
    return found === undefined || (wanted === "about to send" && found.note !== wanted);
  }
}

/** Every other message is noted. */
function isNoted({ messageId }: Outbound): boolean {
  return Number.parseInt(messageId.at(-1) ?? "0", 16) % 2 === 0;
}

function nameOf({ messageId, attemptedAt }: { messageId: string; attemptedAt: number }): string {
  return `${messageId} ${attemptedAt}`;
}
