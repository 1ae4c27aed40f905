import type { EmbedKey } from '../types.js';
import type { Words } from './words/words.js';
/** A text with the name of a key in it. The name is isolated, so that its script, or marks of direction in it, change nothing around it. */
export declare const withName: (name: `${'edit' | 'rotate' | 'pause' | 'resume' | 'revoke'}Named` | 'revokeAsk', key: EmbedKey, words: Words) => (string | false | import("preact").JSX.Element)[][];
