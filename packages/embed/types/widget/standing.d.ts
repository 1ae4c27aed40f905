import type { EmbedSession } from '../types.js';
import type { Words } from './words/words.js';
interface StandingProps {
    readonly words: Words;
    readonly session: EmbedSession;
    readonly onRestrict: () => void;
}
/** What holds for all keys: that the vendor refuses them, and from where they work. */
export declare function Standing({ words, session, onRestrict }: StandingProps): import("preact").JSX.Element;
export {};
