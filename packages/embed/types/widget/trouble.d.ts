import type { ComponentChildren } from 'preact';
import type { EmbedError } from '../client/embed-error.js';
import type { EmbedKey } from '../types.js';
import type { At } from './at.js';
/** Why a change failed, inside its dialog, where everything typed stays; or why the keys cannot be shown. */
export declare function Refused({ at, trouble, of, children, }: {
    at: At;
    trouble: EmbedError;
    /** The key of the change. */
    of?: EmbedKey | undefined;
    children?: ComponentChildren;
}): import("preact").JSX.Element;
interface TroubleProps {
    readonly at: At;
    readonly trouble: EmbedError;
    readonly onRetry: () => void;
    readonly isBusy: boolean;
}
/** Why the keys cannot be shown, and what to do. A passing failure is tried again by itself. */
export declare function Trouble({ at, trouble, onRetry, isBusy }: TroubleProps): import("preact").JSX.Element;
export {};
