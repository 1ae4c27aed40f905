import type { Keyring } from './keyring.js';
import type { Words } from './words/words.js';
/** What the parts of one widget share. */
export interface At {
    readonly words: Words;
    readonly keyring: Keyring;
    /** Whether dates are shown; until then their space stays empty. */
    readonly hasDates?: boolean;
}
