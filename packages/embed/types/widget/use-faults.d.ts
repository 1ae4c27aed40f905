import type { Words } from './words/words.js';
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
    /** @param entries those of a list, of which the refused one is named */
    faultOf(path: string, entries?: readonly string[]): false | import("preact").JSX.Element;
};
export type Faults = ReturnType<typeof useFaults>;
