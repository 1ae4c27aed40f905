import type { EmbedKey } from '../types.js';
import type { At } from './at.js';
interface EditDialogProps {
    readonly at: At;
    readonly of: EmbedKey;
    readonly canRestrict: boolean;
    readonly onClose: () => void;
    readonly onDone: () => void;
}
/** Sends only the fields that the person has changed: an unchanged expiry keeps its time of day. */
export declare function EditDialog({ at, of: key, canRestrict, onClose, onDone }: EditDialogProps): import("preact").JSX.Element;
export {};
