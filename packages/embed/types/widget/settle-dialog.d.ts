import type { EmbedKey } from '../types.js';
import type { At } from './at.js';
interface SettleDialogProps {
    readonly at: At;
    readonly of: EmbedKey;
    readonly change: 'pause' | 'resume' | 'revoke';
    readonly onClose: () => void;
    readonly onDone: () => void;
}
/** Asks before the service accepts a key no longer, or again. */
export declare function SettleDialog({ at, of: key, change, onClose, onDone }: SettleDialogProps): import("preact").JSX.Element;
export {};
