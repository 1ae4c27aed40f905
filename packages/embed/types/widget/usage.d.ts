import type { EmbedClient } from '../client/embed-client.js';
import type { KeyUsage } from '../types.js';
/** Requests of each key. Few keys are asked for at a time, so that a long list sends no burst. */
export interface UsageFigures {
    /** The newest figures of a key. Undefined until the first answer; null if that call failed. */
    of(id: string): KeyUsage | null | undefined;
    /** Asks for the figures of a key, once for each list. */
    want(id: string): void;
    /** Lets each key ask again. Known figures stay until the answer, so that nothing flickers. */
    renew(): void;
    /** Forgets all figures. */
    clear(): void;
}
export declare function createUsage(client: EmbedClient, onChange: () => void): UsageFigures;
