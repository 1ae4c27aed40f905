import type { EmbedClient } from '../client/embed-client.js';
import type { KeyUsage } from '../types.js';
/** Figures of keys, asked for few at a time, so that a long list is no burst. */
export interface UsageFigures {
    /** The newest that are known. Undefined while the first are asked for; null if they cannot be had. */
    of(id: string): KeyUsage | null | undefined;
    /** Asks, once for each list. */
    want(id: string): void;
    /** Lets each key ask again. What is known stays until then, so that nothing flickers. */
    renew(): void;
    /** Forgets them all. */
    clear(): void;
}
export declare function createUsage(client: EmbedClient, onChange: () => void): UsageFigures;
