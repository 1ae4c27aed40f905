import type { EmbedKey, EmbedSession } from '../types.js';
import type { At } from './at.js';
interface KeyRowProps {
    readonly at: At;
    readonly of: EmbedKey;
    readonly can: EmbedSession['can'];
    readonly onRotate: () => void;
    readonly onRevoke: () => void;
}
export declare function KeyRow({ at, of: key, can, onRotate, onRevoke }: KeyRowProps): import("preact").JSX.Element;
export {};
