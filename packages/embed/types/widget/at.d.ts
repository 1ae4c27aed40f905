import type { Keyring } from './keyring.js';
import type { Words } from './words/words.js';
/** What every part of one widget has around it. */
export interface At {
    readonly words: Words;
    readonly keyring: Keyring;
    /** Whether dates are shown; until then their place is kept. */
    readonly hasDates?: boolean;
}
