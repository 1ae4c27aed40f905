import type { EmbedError } from '../client/embed-error.js';
import type { Words } from './words/words.js';
/** Whether the form itself says what the service does not accept, so that nothing else needs to. */
export declare const isMarked: ({ faults }: EmbedError) => boolean;
/** The faults that the service has found in a form, by field. */
export declare function useFaults(words: Words): {
    /** Call it when the person changes the form. */
    forgive: () => void;
    learnFrom<T>(asked: Promise<T>): Promise<T>;
    /** Attributes of the field. */
    marksOf: (path: string) => false | {
        'aria-invalid': boolean;
        'aria-describedby': string;
    };
    /** @param entries those of a list of networks, of which the refused ones are named */
    faultOf(path: string, entries?: readonly string[]): false | import("preact").JSX.Element;
};
export type Faults = ReturnType<typeof useFaults>;
