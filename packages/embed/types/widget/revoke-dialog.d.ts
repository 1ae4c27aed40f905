import type { EmbedKey } from '../types.js';
import type { At } from './at.js';
interface RevokeDialogProps {
    readonly at: At;
    readonly of: EmbedKey;
    readonly onClose: () => void;
    readonly onDone: () => void;
}
export declare function RevokeDialog({ at, of: key, onClose, onDone }: RevokeDialogProps): import("preact").JSX.Element;
export {};
