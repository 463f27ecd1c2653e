/**
 * Addresses of files and hooks that need no API key: they are signed with a key that is stored sealed among the
 * settings.
 */

import type { AttachmentId, InstanceId } from "../core/id.ts";
import { isHookOf, isLinkOver, LINK_KEY_BYTES, openLink, signHook, signLink } from "../core/signed-link.ts";
import type { Sealer } from "../secrets.ts";
import { findSetting } from "../store/settings.ts";
import type { Deps } from "./deps.ts";
import { settingSecretPlace } from "./secret-places.ts";

/** Name in the settings table. */
export const LINK_KEY = "link-key";

/** Path of all hooks on this server. */
export const HOOKS_PATH = "/hooks/";

/** Signs and opens tokens. Usable after `load`, at each start. */
export class SignedLinks {
  #key: Uint8Array | null;

  /** `key`: for tests without a store. */
  constructor(key: Uint8Array | null = null) {
    this.#key = key;
  }

  /** Whether the key is loaded: false until the service has begun to start its engine. */
  get isLoaded(): boolean {
    return this.#key !== null;
  }

  /**
   * Loads the key from the store, which the first start created. It survives a change of the secret key that seals it.
   */
  async load({ store, sealer, random }: Pick<Deps, "store" | "random"> & { sealer: Sealer }): Promise<void> {
    const sealed = await findSetting(store.db, LINK_KEY);
    const place = settingSecretPlace(LINK_KEY);
    if (sealed !== null) {
      this.#key = Buffer.from(sealer.open(sealed, place), "base64");
      return;
    }
    const key = Buffer.from(random(LINK_KEY_BYTES));
    const value = sealer.seal(key.toString("base64"), place);
    const record = { name: LINK_KEY, value };
    const { result } = await store.commit([{ op: "insertUnique", table: "settings", record }]);
    // Another process that starts may have been first.
    if (result === "ok") this.#key = key;
    else await this.load({ store, sealer, random });
  }

  /** A token that opens the file for `retentionMs` from the real time `now`; for ever if `retentionMs` is null. */
  token(id: AttachmentId, now: number, retentionMs: number | null): string {
    return signLink(this.#loaded, { id, expiresAt: retentionMs === null ? null : now + retentionMs });
  }

  /** The file that a token opens at the real time `now`; null if the token is malformed, forged or expired. */
  open(token: string, now: number): AttachmentId | null {
    return openLink(this.#loaded, token, now);
  }

  /** The token of an instance's hook. */
  hookToken(id: InstanceId): string {
    return signHook(this.#loaded, id);
  }

  /** Whether a token is that of the instance's hook. */
  opensHook(id: InstanceId, token: string): boolean {
    return isHookOf(this.#loaded, id, token);
  }

  get #loaded(): Uint8Array {
    if (this.#key === null) throw new Error("the key of download links was not loaded");
    return this.#key;
  }
}

/** Builds the addresses of tokens under `base()`; null for a token that has expired by the real time of `clock`. */
export function linkUnder(base: () => string, { clock }: Pick<Deps, "clock">): (token: string) => string | null {
  return (token) => (isLinkOver(token, clock.real()) ? null : `${base()}/v1/attachments/${token}`);
}

/** The whole address of an instance's hook. */
export function hookUrl(
  { signedLinks, publicUrl }: { signedLinks: SignedLinks; publicUrl: () => string },
  id: InstanceId,
): string {
  return `${publicUrl()}${HOOKS_PATH}${id}/${signedLinks.hookToken(id)}`;
}
