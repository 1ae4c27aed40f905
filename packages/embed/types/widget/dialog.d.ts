import type { ComponentChildren } from 'preact';
interface DialogProps {
    readonly title: ComponentChildren;
    /** Called when Esc or the system asks to close the dialog. The dialog stays open until the caller no longer draws it. */
    readonly onClose: () => void;
    readonly children: ComponentChildren;
}
/** A modal dialog of the browser. It holds the focus, and gives the focus back to the element that opened the dialog. */
export declare function Dialog({ title, onClose, children }: DialogProps): import("preact").JSX.Element;
export {};
