import type { Keyring } from './keyring.js';
import type { Words } from './words/words.js';
interface AppProps {
    readonly keyring: Keyring;
    readonly words: Words;
    readonly density: string;
}
export declare function App({ keyring, words, density }: AppProps): import("preact").JSX.Element;
export {};
