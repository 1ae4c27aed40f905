import type { Faults } from './use-faults.js';
import type { Words } from './words/words.js';
interface NetworksFieldProps {
    readonly words: Words;
    /** As the person has typed it. */
    readonly text: string;
    readonly faults: Faults;
    /** What an empty field stands for. */
    readonly empty: 'networksAny' | 'networksAsAll';
    readonly onText: (text: string) => void;
}
/** One range on each line, or with commas between. */
export declare const rangesOf: (text: string) => string[];
export declare const textOf: (ranges: readonly string[] | null | undefined) => string;
/** From which addresses keys may be used. */
export declare function NetworksField({ words, text, faults, empty, onText }: NetworksFieldProps): import("preact").JSX.Element;
export {};
