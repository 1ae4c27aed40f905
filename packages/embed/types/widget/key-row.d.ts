import type { EmbedKey, EmbedSession } from '../types.js';
import type { At } from './at.js';
interface KeyRowProps {
    readonly at: At;
    readonly of: EmbedKey;
    readonly can: EmbedSession['can'];
    /** Whether the list has the successor of the key. A list has newer keys first, so a successor that is missing is revoked. */
    readonly isReplaced: boolean;
    readonly onEdit: () => void;
    readonly onRotate: () => void;
    readonly onPause: () => void;
    readonly onResume: () => void;
    readonly onRevoke: () => void;
}
export declare function KeyRow({ at, of: key, can, isReplaced, onEdit, onRotate, onPause, onResume, onRevoke, }: KeyRowProps): import("preact").JSX.Element;
export {};
