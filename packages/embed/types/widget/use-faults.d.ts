import type { Words } from './words/words.js';
/** What the service has refused of a form, by field. */
export declare function useFaults(words: Words): {
    /** For a form that changes. */
    forgive: () => void;
    learnFrom<T>(asked: Promise<T>): Promise<T>;
    /** Attributes of the field. */
    marksOf: (path: string) => false | {
        'aria-invalid': boolean;
        'aria-describedby': string;
    };
    faultOf: (path: string) => false | import("preact").JSX.Element;
};
export type Faults = ReturnType<typeof useFaults>;
