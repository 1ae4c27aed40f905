import type { At } from './at.js';
import type { NewSecret } from './keyring.js';
interface SecretDialogProps {
    readonly at: At;
    readonly secret: NewSecret;
    readonly onClose: () => void;
}
/** Shows a key, once. It asks before it closes, until the person says that the key is stored. */
export declare function SecretDialog({ at, secret: { key, oldEndsAt }, onClose }: SecretDialogProps): import("preact").JSX.Element;
export {};
