import type { At } from './at.js';
import type { NewSecret } from './keyring.js';
interface CreateDialogProps {
    readonly at: At;
    /** The scopes to offer. */
    readonly scopes: readonly string[];
    readonly onClose: () => void;
    readonly onMade: (secret: NewSecret) => void;
}
export declare function CreateDialog({ at, scopes, onClose, onMade }: CreateDialogProps): import("preact").JSX.Element;
export {};
