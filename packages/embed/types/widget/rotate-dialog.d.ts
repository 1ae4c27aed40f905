import type { EmbedKey } from '../types.js';
import type { At } from './at.js';
import type { NewSecret } from './keyring.js';
interface RotateDialogProps {
    readonly at: At;
    readonly of: EmbedKey;
    readonly onClose: () => void;
    readonly onMade: (secret: NewSecret) => void;
}
export declare function RotateDialog({ at, of: key, onClose, onMade }: RotateDialogProps): import("preact").JSX.Element;
export {};
