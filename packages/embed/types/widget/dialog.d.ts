import type { ComponentChildren } from 'preact';
interface DialogProps {
    readonly title: ComponentChildren;
    /** Asked for by Esc or the system; the dialog stays open until it is no longer drawn. */
    readonly onClose: () => void;
    readonly children: ComponentChildren;
}
/** A modal dialog of the browser: it holds the focus, and gives it back to what opened it. */
export declare function Dialog({ title, onClose, children }: DialogProps): import("preact").JSX.Element;
export {};
