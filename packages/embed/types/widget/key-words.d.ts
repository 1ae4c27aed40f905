import type { EmbedKey, EmbedSession } from '../types.js';
import type { At } from './at.js';
import type { Words } from './words/words.js';
export declare const nameOf: ({ name }: EmbedKey, words: Words) => string;
export declare const prefixOf: ({ display_prefix }: EmbedKey) => string;
/** @param now the service's time. */
export declare const hasEnded: ({ expires_at }: EmbedKey, now: number) => boolean;
/** When the key was made and used, and until when it works. */
export declare function lifeOf(key: EmbedKey, { words, keyring, hasDates }: At): string[];
/** Beside a newer process that lists the keys, an older one may have sent the session. */
export declare const vendorOf: (session: EmbedSession | null) => string;
/** Who has paused a key; null for one that works. A service that is older than the widget pauses none. */
export declare function pausedBy({ disabled_at, disabled_by }: EmbedKey, { words, keyring }: At): string | null;
/** Why the service does not change a key that is not active, as the list has it since. */
export declare function inactiveBy(id: string | undefined, at: At): string;
/** Until when the old key of a rotation works. */
export declare const oldEndsOf: (end: string | number, { words, keyring }: At) => string;
