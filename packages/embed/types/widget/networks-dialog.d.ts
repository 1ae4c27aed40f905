import type { At } from './at.js';
interface NetworksDialogProps {
    readonly at: At;
    readonly of: readonly string[];
    readonly onClose: () => void;
    readonly onDone: () => void;
}
/** Changes from where all those keys work that have no networks of their own. */
export declare function NetworksDialog({ at, of: networks, onClose, onDone }: NetworksDialogProps): import("preact").JSX.Element;
export {};
