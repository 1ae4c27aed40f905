import type { Faults } from './use-faults.js';
import type { Words } from './words/words.js';
interface NameFieldProps {
    readonly words: Words;
    readonly name: string;
    readonly faults: Faults;
    readonly onName: (name: string) => void;
}
/** The name of a key. */
export declare function NameField({ words, name, faults, onName }: NameFieldProps): import("preact").JSX.Element;
export {};
