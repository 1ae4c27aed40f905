import type { EmbedKey, EmbedSession } from '../types.js';
import type { At } from './at.js';
import type { NewSecret } from './keyring.js';
export type Open = {
    readonly kind: 'create' | 'restrict';
} | {
    readonly kind: 'edit' | 'rotate' | 'pause' | 'resume' | 'revoke';
    readonly key: EmbedKey;
} | {
    readonly kind: 'secret';
    readonly secret: NewSecret;
};
/** What is said after a change. */
export type Said = 'saidSaved' | 'saidNetworks' | 'saidRevoked';
interface OpenDialogProps {
    readonly at: At;
    readonly of: Open;
    readonly session: EmbedSession | null;
    readonly onClose: () => void;
    readonly onMade: (secret: NewSecret) => void;
    readonly onDone: (said: Said) => void;
}
/** The dialog that is open. */
export declare function OpenDialog({ at, of: open, session, onClose, onMade, onDone }: OpenDialogProps): import("preact").JSX.Element;
export {};
