import type { ComponentChildren } from 'preact';
import type { EmbedKey } from '../types.js';
import type { At } from './at.js';
interface ChangeDialogProps {
    readonly at: At;
    /** The key that is changed. */
    readonly of?: EmbedKey;
    readonly title: ComponentChildren;
    /** The text of the button that makes the change. */
    readonly action: ComponentChildren;
    readonly kind: 'primary' | 'danger';
    /** Makes the change and ends the dialog. */
    readonly make: () => Promise<void>;
    readonly onClose: () => void;
    /** The fields. */
    readonly children: ComponentChildren;
}
/**
 * A form for one change at a time. A failure is shown in the form; the fields stay as they are. The form stays open until the
 * change is answered: a late answer would close the next dialog, which may show a key that is shown only once.
 */
export declare function ChangeDialog({ at, of, title, action, kind, make, onClose, children }: ChangeDialogProps): import("preact").JSX.Element;
export {};
