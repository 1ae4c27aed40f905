import type { EmbedKey } from '../types.js';
import type { Words } from './words/words.js';
/** A text with the name of a key in it. Isolated, a name of any script, or with marks of direction, turns nothing around it. */
export declare const withName: (name: 'editNamed' | 'rotateNamed' | 'revokeNamed' | 'revokeAsk', key: EmbedKey, words: Words) => (string | false | import("preact").JSX.Element)[][];
